#!/bin/sh
# Deploy an example to AWS, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes FABRIC_CLOUD1_LAMBDA_ROLE_ARN=... sh scripts/acceptance/cloud1-lambda.sh
#
# Credentials and region come from the variables, profile or role that the AWS CLI uses.
provider=cloud1-lambda triggers=", {type: cron, schedule: rate(1 hour)}"
variables="FABRIC_CLOUD1_LAMBDA_ROLE_ARN"
costs="creates functions and an HTTP API"
. "$(dirname "$0")/service.sh"
