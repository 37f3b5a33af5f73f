{{/*
The Deployment of one role, or of all: a list of the root and the role. The pods of `gateway` serve callers; where the
roles are not split they do everything else as well.
*/}}
{{- define "baton.deployment" -}}
{{- $role := index . 1 -}}
{{- with index . 0 -}}
{{- $serves := eq $role "gateway" -}}
{{- $own := index .Values.roles $role | default dict -}}
{{- $admin := required "admin.existingSecret: name a secret with the admin credential, such as one made by: kubectl create secret generic baton --from-literal=admin-token=\"$(openssl rand -hex 32)\"" .Values.admin.existingSecret }}
{{- $redisKind := include "baton.redisKind" . }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "baton.fullname" . }}{{ ternary "" (printf "-%s" $role) $serves }}
  labels:
    {{- include "baton.labels" . | nindent 4 }}
    app.kubernetes.io/component: {{ $role }}
spec:
  {{- if not $serves }}
  replicas: {{ $own.replicas }}
  {{- else if not .Values.autoscaling.enabled }}
  replicas: {{ .Values.replicas }}
  {{- end }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  selector:
    matchLabels:
      {{- include "baton.instanceLabels" . | nindent 6 }}
      app.kubernetes.io/component: {{ $role }}
  template:
    metadata:
      labels:
        {{- with .Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "baton.instanceLabels" . | nindent 8 }}
        app.kubernetes.io/component: {{ $role }}
        {{- if not $serves }}
        app.kubernetes.io/part-of: baton-background
        {{- end }}
      annotations:
        checksum/config: {{ include "baton.config" . | sha256sum }}
        {{- with .Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "baton.serviceAccountName" . }}
      automountServiceAccountToken: false
      # A service called baton would set BATON_PORT to an address, which is a variable of the gateway's own.
      enableServiceLinks: false
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml .Values.podSecurityContext | nindent 8 }}
      # preStop, the delay and the grace of `serve`, and the end of pushes under way.
      terminationGracePeriodSeconds: {{ add .Values.drain.preStopSeconds .Values.drain.delaySeconds .Values.drain.graceSeconds 15 }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      topologySpreadConstraints:
        {{- with .Values.topologySpreadConstraints }}
        {{- toYaml . | nindent 8 }}
        {{- else }}
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "baton.instanceLabels" . | nindent 14 }}
              app.kubernetes.io/component: {{ $role }}
        {{- end }}
      containers:
        - name: baton
          image: {{ include "baton.image" . | quote }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          args: ["serve", "--json", "--grace", "{{ .Values.drain.graceSeconds }}s"{{ if .Values.roles.split }}, "--roles", "{{ $role }}"{{ end }}]
          env:
            - name: BATON_ADMIN_TOKEN
              valueFrom:
                secretKeyRef:
                  name: {{ $admin }}
                  key: {{ .Values.admin.key }}
            {{- if .Values.push.existingSecret }}
            - name: BATON_SECRET_KEY
              valueFrom:
                secretKeyRef:
                  name: {{ .Values.push.existingSecret }}
                  key: {{ .Values.push.key }}
            {{- end }}
            {{- if eq $redisKind "secret" }}
            - name: BATON_REDIS_URL
              valueFrom:
                secretKeyRef:
                  name: {{ .Values.redis.existingSecret }}
                  key: {{ .Values.redis.urlKey }}
            {{- else if .Values.redis.passwordKey }}
            - name: BATON_REDIS_PASSWORD
              valueFrom:
                secretKeyRef:
                  name: {{ .Values.redis.existingSecret }}
                  key: {{ .Values.redis.passwordKey }}
            {{- else if and (eq $redisKind "bundled") .Values.redis.bundled.existingSecret }}
            - name: BUNDLED_REDIS_PASSWORD
              valueFrom:
                secretKeyRef:
                  name: {{ .Values.redis.bundled.existingSecret }}
                  key: {{ .Values.redis.bundled.passwordKey }}
            - name: BATON_REDIS_URL
              value: "redis://:$(BUNDLED_REDIS_PASSWORD)@{{ include "baton.redisService" . }}:6379"
            {{- else if eq $redisKind "bundled" }}
            - name: BATON_REDIS_URL
              value: "redis://{{ include "baton.redisService" . }}:6379"
            {{- end }}
            {{- with .Values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            {{- if $serves }}
            - name: main
              containerPort: 7420
            {{- end }}
            - name: admin
              containerPort: 7421
          startupProbe:
            httpGet: {path: /livez, port: admin}
            {{- toYaml .Values.probes.startup | nindent 12 }}
          livenessProbe:
            httpGet: {path: /livez, port: admin}
            {{- toYaml .Values.probes.liveness | nindent 12 }}
          readinessProbe:
            httpGet: {path: /readyz, port: admin}
            {{- toYaml .Values.probes.readiness | nindent 12 }}
          {{- if and $serves (gt (int .Values.drain.preStopSeconds) 0) }}
          lifecycle:
            preStop:
              exec:
                command: ["node", "-e", "setTimeout(() => {}, {{ mul .Values.drain.preStopSeconds 1000 }})"]
          {{- end }}
          resources:
            {{- toYaml ($own.resources | default .Values.resources) | nindent 12 }}
          securityContext:
            {{- toYaml .Values.securityContext | nindent 12 }}
          volumeMounts:
            - name: config
              mountPath: /etc/baton
              readOnly: true
            - name: data
              mountPath: /var/lib/baton
            {{- if .Values.tls.existingSecret }}
            - name: tls
              mountPath: /etc/baton-tls
              readOnly: true
            {{- end }}
            {{- with .Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: config
          configMap:
            name: {{ include "baton.fullname" . }}
        - name: data
          emptyDir: {sizeLimit: 16Mi}
        {{- if .Values.tls.existingSecret }}
        - name: tls
          secret:
            secretName: {{ .Values.tls.existingSecret }}
        {{- end }}
        {{- with .Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
{{- end }}
