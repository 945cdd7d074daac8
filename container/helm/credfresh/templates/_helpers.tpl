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

{{- /* A rule of credfresh.needs, limited to one object by resourceNames; an Event and a request have no known name. */}}
{{- define "credfresh.rule" -}}
- apiGroups: [{{ .group | quote }}]
  resources: [{{ .resource }}]
  {{- with .name }}
  resourceNames: [{{ . | quote }}]
  {{- end }}
  verbs: {{ toJson .verbs }}
{{- end }}

{{- define "credfresh.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "credfresh.account" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}
