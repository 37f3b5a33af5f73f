{{- define "baton.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "baton.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "baton.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "baton.instanceLabels" -}}
app.kubernetes.io/name: {{ include "baton.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "baton.selectorLabels" -}}
{{ include "baton.instanceLabels" . }}
app.kubernetes.io/component: gateway
{{- end }}

{{/* Roles with a Deployment of their own, where they are split; without its key there is nothing to push. */}}
{{- define "baton.backgroundRoles" -}}
{{ if .Values.push.existingSecret }}push {{ end }}followers sweeper
{{- end }}

{{/* All pods that run Baton, as a label selector. */}}
{{- define "baton.allPods" -}}
{{- if .Values.roles.split -}}
matchLabels:
  {{- include "baton.instanceLabels" . | nindent 2 }}
matchExpressions:
  - key: app.kubernetes.io/component
    operator: In
    values: [gateway, push, followers, sweeper]
{{- else -}}
matchLabels:
  {{- include "baton.selectorLabels" . | nindent 2 }}
{{- end -}}
{{- end }}

{{- define "baton.labels" -}}
{{ include "baton.instanceLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "baton.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "baton.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "baton.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end }}

{{/* Pods at the least, whoever decides on their number. */}}
{{- define "baton.minReplicas" -}}
{{- if .Values.autoscaling.enabled -}}{{ .Values.autoscaling.minReplicas }}{{- else -}}{{ .Values.replicas }}{{- end -}}
{{- end }}

{{- define "baton.redisService" -}}
{{ include "baton.fullname" . }}-redis
{{- end }}

{{/* The one way to Redis: secret, url, sentinel, cluster or bundled. */}}
{{- define "baton.redisKind" -}}
{{- $redis := .Values.redis -}}
{{- $ways := list -}}
{{- if $redis.urlKey }}{{ $ways = append $ways "secret" }}{{ end -}}
{{- if $redis.url }}{{ $ways = append $ways "url" }}{{ end -}}
{{- if $redis.sentinel }}{{ $ways = append $ways "sentinel" }}{{ end -}}
{{- if $redis.cluster }}{{ $ways = append $ways "cluster" }}{{ end -}}
{{- if $redis.bundled.enabled }}{{ $ways = append $ways "bundled" }}{{ end -}}
{{- if ne (len $ways) 1 -}}
{{- fail (printf "redis: give exactly one of existingSecret with urlKey, url, sentinel, cluster, bundled.enabled; found: %s" (join ", " $ways | default "none")) -}}
{{- end -}}
{{- if and (or $redis.urlKey $redis.passwordKey) (not $redis.existingSecret) -}}
{{- fail "redis.existingSecret: name the secret that has redis.urlKey or redis.passwordKey" -}}
{{- end -}}
{{- if and $redis.passwordKey (not (or $redis.sentinel $redis.cluster)) -}}
{{- fail "redis.passwordKey: is for redis.sentinel and redis.cluster; for one server put its whole address into redis.urlKey" -}}
{{- end -}}
{{- if regexMatch "^[a-z]+://[^/]*@" $redis.url -}}
{{- fail "redis.url: must not hold credentials; put the address into a secret and name it with redis.existingSecret and redis.urlKey" -}}
{{- end -}}
{{- first $ways -}}
{{- end }}

{{/* baton.yaml: config, and over it what the chart decides. */}}
{{- define "baton.config" -}}
{{- $redis := .Values.redis -}}
{{- $kind := include "baton.redisKind" . -}}
{{- $own := dict "embedded" false "waitReplicas" (int $redis.waitReplicas) "waitMilliseconds" (int $redis.waitMilliseconds) "persistence" $redis.persistence -}}
{{- if eq $kind "url" }}{{ $_ := set $own "url" $redis.url }}{{ end -}}
{{- if eq $kind "sentinel" }}{{ $_ := set $own "sentinel" $redis.sentinel }}{{ end -}}
{{- if eq $kind "cluster" }}{{ $_ := set $own "cluster" $redis.cluster }}{{ end -}}
{{- if $redis.username }}{{ $_ := set $own "username" $redis.username }}{{ end -}}
{{- $listen := dict "host" "0.0.0.0" "port" 7420 -}}
{{- if .Values.tls.existingSecret -}}
{{- $_ := set $listen "tls" (dict "certFile" "/etc/baton-tls/tls.crt" "keyFile" "/etc/baton-tls/tls.key") -}}
{{- end -}}
{{- $chart := dict "listen" $listen "admin" (dict "host" "0.0.0.0" "port" 7421) "dataDir" "/var/lib/baton" "redis" $own "drain" (dict "delaySeconds" .Values.drain.delaySeconds) -}}
{{- if not .Values.push.existingSecret }}{{ $_ := set $chart "push" (dict "enabled" false) }}{{ end -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $chart) -}}
{{- end }}

{{/* Ports of the guard as NetworkPolicy ports: numbers, and ranges such as "8000-8999". */}}
{{- define "baton.ports" -}}
{{- range . }}
{{- if kindIs "string" . }}
{{- $ends := splitList "-" . }}
- protocol: TCP
  port: {{ first $ends | atoi }}
  {{- if gt (len $ends) 1 }}
  endPort: {{ last $ends | atoi }}
  {{- end }}
{{- else }}
- protocol: TCP
  port: {{ int . }}
{{- end }}
{{- end }}
{{- end }}
