#!/bin/sh
# Deploy an example to Vercel, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes HOST1_TOKEN=... HOST1_PROJECT_ID=... sh scripts/acceptance/host1.sh
#
# The project must exist and have no other deployments.
provider=host1 triggers=", {type: cron, schedule: rate(1 day)}"
variables="HOST1_TOKEN HOST1_PROJECT_ID"
costs="creates deployments"
. "$(dirname "$0")/service.sh"
