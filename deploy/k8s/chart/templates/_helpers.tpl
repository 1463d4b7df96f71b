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

{{/* hatrpcd.yaml: what is given here, and .Values.config over it. */}}
{{- define "hatrpcd.node" -}}
{{- $given := dict
      "node" "$NODE_NAME"
      "fabric" (ternary "tcp" "verbs" (eq .Values.rdma.mode "none"))
      "manifests" (list "../manifests")
      "link" (dict "listen" (printf "tcp:0.0.0.0:%v" .Values.linkPort))
      "admin" (dict "listen" (printf "tcp:0.0.0.0:%v" .Values.adminPort)
                    "socket" "/run/hatrpcd-admin/admin.sock") -}}
{{- toYaml (mergeOverwrite $given (deepCopy .Values.config)) -}}
{{- end }}

{{/* A change gets another name, and so restarts the pods: hatrpcd.yaml wants that, and no pod sees it change. */}}
{{- define "hatrpcd.nodeConfigMap" -}}
hatrpcd-node-{{ include "hatrpcd.node" . | sha256sum | trunc 10 }}
{{- end }}

{{/* The ports of the tcp: endpoints, as a list in JSON. */}}
{{- define "hatrpcd.endpointPorts" -}}
{{- $ports := list -}}
{{- range .Values.config.endpoints -}}
{{- if hasPrefix "tcp:" .listen -}}
{{- $ports = append $ports (.listen | splitList ":" | last | int) -}}
{{- end -}}
{{- end -}}
{{- toJson $ports -}}
{{- end }}

{{/* What was asked for, or what two workers want; and the device. */}}
{{- define "hatrpcd.resources" -}}
{{- $mode := .Values.rdma.mode -}}
{{- $plain := dict "requests" (dict "cpu" "500m" "memory" "256Mi") "limits" (dict "memory" "1Gi") -}}
{{- $pinned := dict "requests" (dict "cpu" "500m" "memory" "640Mi") "limits" (dict "memory" "1536Mi") -}}
{{- $asked := mergeOverwrite (ternary $plain $pinned (eq $mode "none")) (deepCopy .Values.resources) -}}
{{- if eq $mode "shared" }}{{ $_ := set $asked.limits .Values.rdma.sharedResource "1" }}{{ end -}}
{{- if eq $mode "sriov" }}{{ $_ := set $asked.limits .Values.rdma.sriovResource "1" }}{{ end -}}
{{- toYaml $asked -}}
{{- end }}
