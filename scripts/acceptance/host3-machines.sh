#!/bin/sh
# Deploy an example to a real account at Fly, change it, roll it back and remove it. Fly charges for it.
#
# ACCEPT_COSTS=yes HOST3_API_TOKEN=... HOST3_APP_NAME=... sh scripts/acceptance/host3-machines.sh
#
# The app must be empty. With HOST3_ORG_ID it can also be missing.
provider=host3-machines triggers=", {type: cron, schedule: rate(1 hour)}"
variables="HOST3_API_TOKEN HOST3_APP_NAME"
costs="starts machines that cost money"
. "$(dirname "$0")/service.sh"
