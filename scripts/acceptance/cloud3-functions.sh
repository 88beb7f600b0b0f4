#!/bin/sh
# Deploy an example to a real account at Azure, change it, roll it back and remove it. Azure charges for it.
#
# ACCEPT_COSTS=yes CLOUD3_TENANT_ID=... CLOUD3_CLIENT_ID=... CLOUD3_CLIENT_SECRET=... \
#   CLOUD3_SUBSCRIPTION_ID=... CLOUD3_RESOURCE_GROUP=... sh scripts/acceptance/cloud3-functions.sh
#
# The resource group must exist.
provider=cloud3-functions triggers=", {type: cron, schedule: rate(1 hour)}"
variables="CLOUD3_TENANT_ID CLOUD3_CLIENT_ID CLOUD3_CLIENT_SECRET CLOUD3_SUBSCRIPTION_ID CLOUD3_RESOURCE_GROUP"
costs="creates a function app that costs money"
. "$(dirname "$0")/service.sh"
