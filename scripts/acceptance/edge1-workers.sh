#!/bin/sh
# Deploy an example to Cloudflare, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes EDGE1_API_TOKEN=... EDGE1_ACCOUNT_ID=... sh scripts/acceptance/edge1-workers.sh
#
# The account needs a workers.dev subdomain.
provider=edge1-workers triggers=", {type: cron, schedule: rate(1 hour)}"
variables="EDGE1_API_TOKEN EDGE1_ACCOUNT_ID"
costs="creates Workers"
. "$(dirname "$0")/service.sh"
