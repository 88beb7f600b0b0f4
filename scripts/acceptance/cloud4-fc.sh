#!/bin/sh
# Deploy an example to Alibaba Cloud, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes CLOUD4_ACCESS_KEY_ID=... CLOUD4_ACCESS_KEY_SECRET=... CLOUD4_REGION=... \
#   sh scripts/acceptance/cloud4-fc.sh
provider=cloud4-fc runtime=nodejs20.x triggers=", {type: cron, schedule: rate(1 hour)}"
variables="CLOUD4_ACCESS_KEY_ID CLOUD4_ACCESS_KEY_SECRET CLOUD4_REGION"
costs="creates functions that cost money"
. "$(dirname "$0")/service.sh"
