// The Prometheus Operator's custom resources, to which tests apply our ServiceMonitor and alert rules; nothing of it is built.
// go.sum beside this file pins it by checksum.
// Files: example/prometheus-operator-crd/*_servicemonitors.yaml example/prometheus-operator-crd/*_prometheusrules.yaml
module rescheduler.io/testbed/prometheus-operator

go 1.26.0

require (
	github.com/prometheus-operator/prometheus-operator v0.88.0 // its files alone
)
