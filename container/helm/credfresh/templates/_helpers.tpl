{{- define "credfresh.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "credfresh.account" -}}
{{ .Values.serviceAccount.name | default (include "credfresh.name" .) }}
{{- end }}

{{- define "credfresh.selector" -}}
app.kubernetes.io/name: credfresh
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "credfresh.labels" -}}
{{ include "credfresh.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "credfresh.role" }}
{{- $name := printf "%s-%s" (include "credfresh.name" .root) .kind }}
{{- with .entry.name }}
{{- $name = printf "%s-%s" $name . }}
{{- end }}
{{- $namespace := .entry.namespace | default .root.Release.Namespace }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ $namespace }}
  labels:
    {{- include "credfresh.labels" .root | nindent 4 }}
rules:
  - apiGroups: [{{ .group | default "" | quote }}]
    resources: [{{ .resource }}]
    {{- with .entry.name }}
    resourceNames: [{{ . | quote }}]
    {{- end }}
    verbs: {{ toJson .verbs }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ $namespace }}
  labels:
    {{- include "credfresh.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "credfresh.account" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}
