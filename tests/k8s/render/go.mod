module hatrpc.test/render

go 1.18

require (
	helm.sh/helm/v3 v3.11.3
	sigs.k8s.io/kustomize/api v0.13.4
	sigs.k8s.io/kustomize/kyaml v0.14.2
)
