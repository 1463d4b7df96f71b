// Not built: it names where the schemas of PodMonitor and PrometheusRule come from, and go.sum pins them.
module hatrpc.test/crds

go 1.18

require github.com/prometheus-operator/prometheus-operator v0.68.0
