{{- define "hatrpcd.labels" -}}
app.kubernetes.io/name: hatrpcd
app.kubernetes.io/part-of: hatrpc
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "hatrpcd.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* "true" if the pods are on the host's network. */}}
{{- define "hatrpcd.hostNetwork" -}}
{{- if or (eq .Values.rdma.mode "shared") .Values.hitlessUpgrade.enabled }}true{{ end -}}
{{- end }}

{{/* The keys of `link` in hatrpcd.yaml, except listen. */}}
{{- define "hatrpcd.linkSecurity" -}}
{{- if .Values.tls.enabled -}}
{{- $tls := dict "certificate" "../tls/tls.crt" "key" "../tls/tls.key" "ca" "../tls/ca.crt" -}}
{{- with .Values.tls.identity }}{{ $_ := set $tls "allow" (list .) }}{{ end -}}
{{- toYaml (dict "tls" $tls) -}}
{{- else -}}
insecure: true
{{- end -}}
{{- end }}

{{/* Fails for combinations of values that are not possible. */}}
{{- define "hatrpcd.validate" -}}
{{- if and .Values.hitlessUpgrade.enabled (eq .Values.rdma.mode "sriov") -}}
{{- fail "hitlessUpgrade wants the host's network, which pods of rdma.mode sriov are not on" -}}
{{- end -}}
{{- if and .Values.tls.enabled (dig "link" "insecure" false .Values.config) -}}
{{- fail "tls.enabled and config.link.insecure: links have either" -}}
{{- end -}}
{{- end }}

{{/* hatrpcd.yaml: the keys that the chart sets, overridden by .Values.config. */}}
{{- define "hatrpcd.node" -}}
{{- $link := include "hatrpcd.linkSecurity" . | fromYaml -}}
{{- $_ := set $link "listen" (printf "tcp:$POD_IP:%v" .Values.linkPort) -}}
{{- $given := dict
      "node" "$NODE_NAME"
      "fabric" (ternary "tcp" "verbs" (eq .Values.rdma.mode "none"))
      "manifests" (list "../manifests")
      "link" $link
      "admin" (dict "listen" (printf "tcp:$POD_IP:%v" .Values.adminPort)
                    "socket" "/run/hatrpcd-admin/admin.sock") -}}
{{- $config := deepCopy .Values.config -}}
{{- if and .Values.tls.enabled .Values.tls.identity -}}
{{- range $config.peers }}{{ if not (hasKey . "identity") }}{{ $_ := set . "identity" $.Values.tls.identity }}{{ end }}{{ end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $given $config) -}}
{{- end }}

{{/* The name of hatrpcd.yaml's ConfigMap. A change of hatrpcd.yaml gives a new name, which restarts the pods. */}}
{{- define "hatrpcd.nodeConfigMap" -}}
hatrpcd-node-{{ include "hatrpcd.node" . | sha256sum | trunc 10 }}
{{- end }}

{{/* The ports of the tcp: endpoints, as a JSON list. */}}
{{- define "hatrpcd.endpointPorts" -}}
{{- $ports := list -}}
{{- range .Values.config.endpoints -}}
{{- if hasPrefix "tcp:" .listen -}}
{{- $ports = append $ports (.listen | splitList ":" | last | int) -}}
{{- end -}}
{{- end -}}
{{- toJson $ports -}}
{{- end }}

{{/* .Values.resources over the defaults, which are for two workers; and the RDMA device. */}}
{{- define "hatrpcd.resources" -}}
{{- $mode := .Values.rdma.mode -}}
{{- $plain := dict "requests" (dict "cpu" "500m" "memory" "256Mi") "limits" (dict "memory" "1Gi") -}}
{{- $pinned := dict "requests" (dict "cpu" "500m" "memory" "640Mi") "limits" (dict "memory" "1536Mi") -}}
{{- $asked := mergeOverwrite (ternary $plain $pinned (eq $mode "none")) (deepCopy .Values.resources) -}}
{{- if eq $mode "shared" }}{{ $_ := set $asked.limits .Values.rdma.sharedResource "1" }}{{ end -}}
{{- if eq $mode "sriov" }}{{ $_ := set $asked.limits .Values.rdma.sriovResource "1" }}{{ end -}}
{{- toYaml $asked -}}
{{- end }}
