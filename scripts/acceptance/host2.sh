#!/bin/sh
# Deploy an example to Netlify, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes HOST2_AUTH_TOKEN=... HOST2_SITE_ID=... sh scripts/acceptance/host2.sh
#
# The site must exist and have no other deploys.
provider=host2 triggers=", {type: cron, schedule: rate(1 hour)}"
variables="HOST2_AUTH_TOKEN HOST2_SITE_ID"
costs="creates deploys"
. "$(dirname "$0")/service.sh"
