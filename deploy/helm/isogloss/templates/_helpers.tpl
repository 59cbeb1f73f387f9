{{- define "isogloss.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "isogloss.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "isogloss.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "isogloss.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The Service that a ServiceMonitor reads, and so its job. */}}
{{- define "isogloss.metricsName" -}}
{{ include "isogloss.fullname" . | trunc 55 | trimSuffix "-" }}-metrics
{{- end -}}

{{- define "isogloss.selectorLabels" -}}
app.kubernetes.io/name: {{ include "isogloss.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "isogloss.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "isogloss.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "isogloss.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "isogloss.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "isogloss.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- if .Values.image.digest -}}
@{{ .Values.image.digest }}
{{- else -}}
:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/* A scalar, a list of strings, or a table of them, as TOML. Numbers of values.yaml arrive as floats, which the proxy would refuse; it reads strings. */}}
{{- define "isogloss.scalar" -}}
{{- if kindIs "slice" . -}}{{ toJson . }}
{{- else if kindIs "map" . -}}
{ {{- range $index, $name := keys . | sortAlpha }}{{ if $index }},{{ end }} {{ $name | quote }} = {{ get $ $name | quote }}{{ end }} }
{{- else if kindIs "float64" . -}}{{ printf "%.0f" . | quote }}{{- else -}}{{ . | toString | quote }}{{- end -}}
{{- end -}}

{{/* A key and its value. YAML reads off, no and yes without quotes as booleans, which the proxy knows by those words. */}}
{{- define "isogloss.entry" -}}
{{- $key := first . -}}
{{- $value := last . -}}
{{- if kindIs "bool" $value -}}
{{- $value = ternary "yes" (ternary "no" "off" (has $key (list "open" "admin"))) $value -}}
{{- end -}}
{{ $key }} = {{ include "isogloss.scalar" $value }}
{{- end -}}

{{/* isogloss.toml. Scalars stand before tables, as TOML has it. */}}
{{/* What operators are served in. */}}
{{- define "isogloss.adminScheme" -}}
{{- $tls := .Values.config.tls | default dict }}
{{- ternary "HTTPS" "HTTP" (has ($tls.admin | default "no") (list "yes" "mutual" true)) }}
{{- end -}}

{{- define "isogloss.toml" -}}
{{- range $key, $value := .Values.config }}
{{- if not (or (kindIs "map" $value) (has $key (list "upstream" "client"))) }}
{{ include "isogloss.entry" (list $key $value) }}
{{- end }}
{{- end }}
{{- range $upstream := .Values.config.upstream }}

[[upstream]]
{{- range $key, $value := $upstream }}
{{ include "isogloss.entry" (list $key $value) }}
{{- end }}
{{- end }}
{{- range $client := .Values.config.client }}

[[client]]
{{- range $key, $value := $client }}
{{ include "isogloss.entry" (list $key $value) }}
{{- end }}
{{- end }}
{{- range $name, $table := .Values.config }}
{{- if kindIs "map" $table }}

[{{ $name }}]
{{- range $key, $value := $table }}
{{ include "isogloss.entry" (list $key $value) }}
{{- end }}
{{- end }}
{{- end }}
{{ end -}}
