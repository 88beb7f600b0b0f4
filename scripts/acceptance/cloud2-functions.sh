#!/bin/sh
# Deploy an example to Google, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes CLOUD2_PROJECT_ID=... CLOUD2_REGION=... sh scripts/acceptance/cloud2-functions.sh
#
# Set also CLOUD2_SERVICE_ACCOUNT_KEY or CLOUD2_ACCESS_TOKEN, and EXTENSIONS='{"serviceAccount": "..."}'.
provider=cloud2-functions triggers=", {type: cron, schedule: rate(1 hour)}"
variables="CLOUD2_PROJECT_ID CLOUD2_REGION"
costs="creates functions and builds that cost money"
. "$(dirname "$0")/service.sh"
