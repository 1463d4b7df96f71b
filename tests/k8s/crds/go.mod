// SPDX-License-Identifier: Apache-2.0
// Not built: it names where the schemas of PodMonitor, PrometheusRule and Certificate come from; go.sum pins them.
module hatrpc.test/crds

go 1.18

require (
	github.com/cert-manager/cert-manager v1.14.5
	github.com/prometheus-operator/prometheus-operator v0.68.0
)
