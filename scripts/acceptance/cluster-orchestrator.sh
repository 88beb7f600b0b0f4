#!/bin/sh
# Deploy an example to a Kubernetes cluster, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes CLUSTER_CONFIG=... CLUSTER_CONTEXT=... CLUSTER_NAMESPACE=... \
#   sh scripts/acceptance/cluster-orchestrator.sh
#
# Needs kubectl and an Ingress controller. Set EXTENSIONS='{"hostname": "..."}' to a name that leads to it.
provider=cluster-orchestrator triggers=", {type: cron, schedule: rate(1 hour)}"
variables="CLUSTER_CONFIG CLUSTER_CONTEXT CLUSTER_NAMESPACE"
costs="creates pods"
. "$(dirname "$0")/service.sh"
