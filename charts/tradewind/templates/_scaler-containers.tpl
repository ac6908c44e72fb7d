{{- define "tradewind.exporterContainer" -}}
- name: exporter
  image: {{ include "tradewind.image" (dict "root" . "image" .Values.scaler.image) }}
  imagePullPolicy: {{ .Values.scaler.image.pullPolicy }}
  args:
    - exporter
    - --listen={{ .Values.listenHost }}:9812
    - --grpc-listen={{ .Values.listenHost }}:{{ .Values.scaler.service.grpcPort }}
    - --probe-listen={{ .Values.listenHost }}:9815
    - --max-sender-work={{ .Values.maxSenderWork }}
    {{- with include "tradewind.allowedHosts" . }}
    - --allowed-hosts={{ . }}
    {{- end }}
    {{- with include "tradewind.portFlags" (dict "flag" "http" "security" .Values.scaler.http) }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    {{- $predictor := include "tradewind.hasPredictor" . | empty | ternary dict .Values.predictor.http }}
    {{- $scheme := include "tradewind.scheme" $predictor }}
    {{- $peers := printf "%s-predictor-peers.%s.svc" (include "tradewind.fullname" .) .Release.Namespace }}
    - --predictor={{ $scheme }}://127.0.0.1:9811{{ if and (include "tradewind.hasPredictor" .) (gt (int .Values.scaler.replicas) 1) }},dns+{{ $scheme }}://{{ $peers }}:9811{{ end }}
    {{- if $predictor.tlsSecret }}
    - --predictor-ca-file=/etc/tradewind/security/predictor/ca.crt
    - --predictor-server-name={{ $peers }}
    {{- end }}
    {{- if $predictor.tokenSecret }}
    - --predictor-token-file=/etc/tradewind/security/predictor/token
    {{- end }}
    {{- if include "tradewind.hasPredictor" . }}
    {{- range splitList "\n" (include "tradewind.predictorConfig" . | trim) }}
    - --config={{ . }}
    {{- end }}
    {{- end }}
    {{- if include "tradewind.exporterAsksAgents" . }}
    {{- include "tradewind.agentFlags" . }}
    {{- end }}
    - --state=/var/lib/tradewind
    - --stale-after={{ .Values.scaler.staleAfter }}
    - --restart-grace={{ .Values.scaler.restartGrace }}
    - --log-level={{ .Values.logLevel }}
    {{- if .Values.scaler.tls.enabled }}
    - --grpc-tls-cert=/etc/tradewind/tls/tls.crt
    - --grpc-tls-key=/etc/tradewind/tls/tls.key
    - --grpc-tls-ca=/etc/tradewind/tls/ca.crt
    {{- end }}
    {{- if and (include "tradewind.hasPredictor" .) (include "tradewind.readsResources" .) }}
    - --status
    {{- end }}
    {{- if .Values.scaler.events.enabled }}
    - --events
    {{- end }}
    {{- if .Values.scaler.vpa.enabled }}
    - --vpa
    {{- end }}
    {{- if include "tradewind.resizes" . }}
    - --in-place-resize
    {{- end }}
    {{- if include "tradewind.exporterUsesApi" . }}
    - --lease={{ include "tradewind.lease" . }}
    {{- end }}
    {{- with .Values.scaler.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  env:
    {{- include "tradewind.podEnv" . | nindent 4 }}
    {{- with .Values.scaler.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - { name: http, containerPort: 9812, protocol: TCP }
    - { name: grpc, containerPort: {{ .Values.scaler.service.grpcPort }}, protocol: TCP }
    - { name: probe, containerPort: 9815, protocol: TCP }
  # Ready as soon as GetMetricSpec is answered, which needs neither the predictor nor the Kubernetes API.
  startupProbe:
    httpGet: { path: /readyz, port: probe }
    periodSeconds: 1
    timeoutSeconds: 2
    failureThreshold: 60
  readinessProbe:
    httpGet: { path: /readyz, port: probe }
    periodSeconds: 5
    timeoutSeconds: 3
  # KEDA sets no deadline on its calls, so every HPA of the cluster may wait for an exporter that hangs. The exporter's threads and
  # its supervisor end it within 4 s; this is the last resort, after 10 s, with no time for good-byes.
  livenessProbe:
    httpGet: { path: /healthz, port: probe }
    periodSeconds: 2
    timeoutSeconds: 2
    failureThreshold: 4
    terminationGracePeriodSeconds: 2
  {{- include "tradewind.preStop" (dict "root" . "seconds" .Values.scaler.preStopSleepSeconds) | nindent 2 }}
  securityContext:
    {{- toYaml .Values.scaler.securityContext | nindent 4 }}
  resources:
    {{- toYaml .Values.scaler.resources | nindent 4 }}
  volumeMounts:
    - { name: state, mountPath: /var/lib/tradewind, subPath: exporter }
    {{- if and (include "tradewind.hasPredictor" .) (eq .Values.application.from "ConfigMap") }}
    - { name: application, mountPath: /etc/tradewind/application, readOnly: true }
    {{- end }}
    {{- if .Values.scaler.tls.enabled }}
    - { name: tls, mountPath: /etc/tradewind/tls, readOnly: true }
    {{- end }}
    {{- if fromJsonArray (include "tradewind.exporterFiles" .) }}
    - { name: exporter-security, mountPath: /etc/tradewind/security, readOnly: true }
    {{- end }}
    {{- if include "tradewind.exporterUsesApi" . }}
    - { name: kubernetes-api, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
    {{- end }}
{{- end }}

{{- define "tradewind.predictorContainer" -}}
- name: predictor
  image: {{ include "tradewind.image" (dict "root" . "image" .Values.predictor.image) }}
  imagePullPolicy: {{ .Values.predictor.image.pullPolicy }}
  args:
    - predictor
    {{- range splitList "\n" (include "tradewind.predictorConfig" . | trim) }}
    - --config={{ . }}
    {{- end }}
    - --listen={{ .Values.listenHost }}:9811
    - --probe-listen={{ .Values.listenHost }}:9816
    - --max-sender-work={{ .Values.maxSenderWork }}
    {{- with include "tradewind.allowedHosts" . }}
    - --allowed-hosts={{ . }}
    {{- end }}
    {{- with include "tradewind.portFlags" (dict "flag" "http" "security" .Values.predictor.http) }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    - --otlp-listen={{ .Values.listenHost }}:4318
    {{- if .Values.predictor.otlp.grpc }}
    - --otlp-grpc-listen={{ .Values.listenHost }}:4317
    {{- end }}
    {{- with include "tradewind.portFlags" (dict "flag" "otlp" "security" .Values.predictor.otlp) }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    {{- if include "tradewind.hasSourcesFile" . }}
    - --sources=/etc/tradewind/application/sources.yaml
    {{- end }}
    - --workloads=kubernetes:{{ include "tradewind.watched" . }}
    {{- include "tradewind.agentFlags" . }}
    {{- if include "tradewind.hasPeers" . }}
    {{- $peersTls := dict "tlsSecret" (include "tradewind.peersTlsSecret" .) }}
    - --peers=dns+{{ include "tradewind.scheme" $peersTls }}://{{ include "tradewind.fullname" . }}-peers.{{ .Release.Namespace }}.svc:9814
    - --peers-listen={{ .Values.listenHost }}:9814
    - --peers-secret-file=/etc/tradewind/peers/secret
    {{- with .Values.predictor.plannersPerApplication }}
    - --planners-per-application={{ . }}
    {{- end }}
    {{- with include "tradewind.portFlags" (dict "flag" "peers" "security" $peersTls) }}
    {{- . | trim | nindent 4 }}
    - --peers-tls-ca=/etc/tradewind/security/peers/ca.crt
    {{- end }}
    {{- end }}
    - --window={{ .Values.predictor.window }}
    {{- with .Values.predictor.grace }}
    - --grace={{ . }}
    {{- end }}
    - --policy={{ .Values.predictor.policy }}
    - --state=/var/lib/tradewind
    - --log-level={{ .Values.logLevel }}
    {{- with .Values.predictor.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  env:
    {{- include "tradewind.podEnv" . | nindent 4 }}
    {{- with .Values.predictor.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - { name: predictor, containerPort: 9811, protocol: TCP }
    - { name: predictor-probe, containerPort: 9816, protocol: TCP }
    - { name: otlp-http, containerPort: 4318, protocol: TCP }
    {{- if .Values.predictor.otlp.grpc }}
    - { name: otlp-grpc, containerPort: 4317, protocol: TCP }
    {{- end }}
    {{- if include "tradewind.hasPeers" . }}
    - { name: peers, containerPort: 9814, protocol: TCP }
    {{- end }}
  # No readiness probe: without a plan the predictor is not ready, and it must not take the exporter beside it along.
  livenessProbe:
    httpGet: { path: /healthz, port: predictor-probe }
    initialDelaySeconds: 30
    periodSeconds: 20
    timeoutSeconds: 10
    failureThreshold: 6
  {{- include "tradewind.preStop" (dict "root" . "seconds" (min 5 (int .Values.scaler.preStopSleepSeconds))) | nindent 2 }}
  securityContext:
    {{- toYaml .Values.predictor.securityContext | nindent 4 }}
  resources:
    {{- toYaml .Values.predictor.resources | nindent 4 }}
  volumeMounts:
    - { name: state, mountPath: /var/lib/tradewind, subPath: predictor }
    - { name: tmp, mountPath: /tmp }
    - { name: {{ if include "tradewind.predictorHasAccount" . }}predictor-api{{ else }}kubernetes-api{{ end }}, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
    {{- if include "tradewind.hasApplicationFiles" . }}
    - { name: application, mountPath: /etc/tradewind/application, readOnly: true }
    {{- end }}
    {{- if include "tradewind.hasPeers" . }}
    - { name: peers, mountPath: /etc/tradewind/peers, readOnly: true }
    {{- end }}
    {{- if fromJsonArray (include "tradewind.predictorFiles" .) }}
    - { name: predictor-security, mountPath: /etc/tradewind/security, readOnly: true }
    {{- end }}
    {{- with .Values.predictor.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* What a client finds beside its token in a pod. */}}
{{- define "tradewind.apiServerFiles" -}}
- configMap:
    name: kube-root-ca.crt
    items: [{ key: ca.crt, path: ca.crt }]
- downwardAPI:
    items:
      - { path: namespace, fieldRef: { apiVersion: v1, fieldPath: metadata.namespace } }
{{- end }}

{{- define "tradewind.podEnv" -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
{{- end }}

{{/* Goes on serving until the addresses of the pod have disappeared where they are used. */}}
{{- define "tradewind.preStop" -}}
{{- if and (gt (int .seconds) 0) (semverCompare ">=1.30.0-0" .root.Capabilities.KubeVersion.Version) }}
lifecycle:
  preStop:
    sleep: { seconds: {{ .seconds }} }
{{- end }}
{{- end }}

{{/* How the node agents are reached, by the predictor always and by the exporter while no plan comes. */}}
{{- define "tradewind.agentFlags" -}}
{{- if .Values.agent.enabled }}
    - --agents=dns+{{ include "tradewind.scheme" .Values.agent.http }}://{{ include "tradewind.fullname" . }}-agent.{{ .Release.Namespace }}.svc:9810
{{- if .Values.agent.http.tlsSecret }}
    - --agents-ca-file=/etc/tradewind/security/agents/ca.crt
{{- end }}
{{- if .Values.agent.http.tokenSecret }}
    - --agents-token-file=/etc/tradewind/security/agents/token
{{- end }}
{{- end }}
{{- end }}
