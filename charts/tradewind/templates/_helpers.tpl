{{- define "tradewind.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Prefix of object names; short enough for the longest suffix, "-predictor-peers". */}}
{{- define "tradewind.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 46 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 46 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 46 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Labels of an object. Takes a dict: root, component. */}}
{{- define "tradewind.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "tradewind.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: tradewind
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tradewind.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tradewind.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Reference of an image. Takes a dict: root, image. */}}
{{- define "tradewind.image" -}}
{{- $registry := default .root.Values.global.image.registry .image.registry }}
{{- $name := .image.repository }}
{{- if $registry }}{{ $name = printf "%s/%s" (trimSuffix "/" $registry) $name }}{{ end }}
{{- if .image.digest }}
{{- printf "%s@%s" $name .image.digest }}
{{- else }}
{{- printf "%s:%s" $name (coalesce .image.tag .root.Values.global.image.tag .root.Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- define "tradewind.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name") }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "tradewind.agentServiceAccount" -}}
{{- if .Values.agent.serviceAccount.create }}
{{- default (printf "%s-agent" (include "tradewind.fullname" .)) .Values.agent.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.agent.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "tradewind.scalerServiceAccount" -}}
{{- if .Values.scaler.serviceAccount.create }}
{{- default (printf "%s-scaler" (include "tradewind.fullname" .)) .Values.scaler.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.scaler.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "tradewind.predictorServiceAccount" -}}
{{- if .Values.predictor.serviceAccount.create }}
{{- default (printf "%s-predictor" (include "tradewind.fullname" .)) .Values.predictor.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.predictor.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* "true" when the predictor has an account of its own. Its token comes from a Secret: a pod projects only its own account's. */}}
{{- define "tradewind.predictorHasAccount" -}}
{{- if and (include "tradewind.hasPredictor" .) (ne (include "tradewind.predictorServiceAccount" .) (include "tradewind.scalerServiceAccount" .)) }}true{{ end }}
{{- end }}

{{/* "true" when there is an application for the predictor, or several may come. */}}
{{- define "tradewind.hasPredictor" -}}
{{- if or .Values.application.existing .Values.application.spec (eq .Values.application.from "Namespaces") }}true{{ end }}
{{- end }}

{{/* "true" when applications are custom resources. */}}
{{- define "tradewind.readsResources" -}}
{{- if ne .Values.application.from "ConfigMap" }}true{{ end }}
{{- end }}

{{/* "true" when there are several predictors, which share what they receive. */}}
{{- define "tradewind.hasPeers" -}}
{{- if and (include "tradewind.hasPredictor" .) (gt (int .Values.scaler.replicas) 1) }}true{{ end }}
{{- end }}

{{/* The random secret that earlier releases of the chart made, of the cluster that is upgraded; empty where there is none. */}}
{{- define "tradewind.keptPeersSecret" -}}
{{- $known := lookup "v1" "Secret" .Release.Namespace (printf "%s-peers" (include "tradewind.fullname" .)) | default dict }}
{{- get (get $known "data" | default dict) "secret" }}
{{- end }}

{{- define "tradewind.peersSecret" -}}
{{- $kept := ternary "peers" "peers-token" (ne (include "tradewind.keptPeersSecret" .) "") }}
{{- default (printf "%s-%s" (include "tradewind.fullname" .) $kept) .Values.predictor.peers.existingSecret }}
{{- end }}

{{/* The key of it that is mounted. */}}
{{- define "tradewind.peersSecretKey" -}}
{{- if or .Values.predictor.peers.existingSecret (include "tradewind.keptPeersSecret" .) }}secret{{ else }}token{{ end }}
{{- end }}

{{/*
"true" when the scaler changes sizes of running pods. `auto`: where the cluster can (1.33 or newer) and an application may ask for it: one of
the chart's own that acts, or one that is written elsewhere, whose mode and `resize` are not known here.
*/}}
{{- define "tradewind.resizes" -}}
{{- $wanted := toString .Values.scaler.inPlaceResize.enabled }}
{{- $spec := .Values.application.spec | default dict }}
{{- $acts := and (eq (toString $spec.mode) "act") (ne (toString $spec.resize) "off") }}
{{- $asked := or (eq .Values.application.from "Namespaces") .Values.application.existing $acts }}
{{- $can := semverCompare ">=1.33.0-0" .Capabilities.KubeVersion.Version }}
{{- if or (eq $wanted "true") (and (eq $wanted "auto") $asked $can) }}true{{ end }}
{{- end }}

{{/* "true" when the exporter itself talks to the Kubernetes API: it writes status, events, VPAs or sizes of pods. */}}
{{- define "tradewind.exporterUsesApi" -}}
{{- if or .Values.scaler.events.enabled .Values.scaler.vpa.enabled (include "tradewind.resizes" .) (and (include "tradewind.hasPredictor" .) (include "tradewind.readsResources" .)) }}true{{ end }}
{{- end }}

{{/* What the exporters' leader holds: of this release, since releases may share a namespace. */}}
{{- define "tradewind.lease" -}}
{{- printf "%s-exporter" (include "tradewind.fullname" .) }}
{{- end }}

{{- define "tradewind.applicationNamespace" -}}
{{- if and (eq .Values.application.from "Resource") (contains "/" .Values.application.existing) }}
{{- first (splitList "/" .Values.application.existing) }}
{{- else }}
{{- $own := include "tradewind.readsResources" . | empty | ternary "default" .Release.Namespace }}
{{- default $own (get (.Values.application.spec | default dict) "namespace") }}
{{- end }}
{{- end }}

{{/* Namespace of the single application. Empty where none is configured, where there may be several, and where an existing ConfigMap names it. */}}
{{- define "tradewind.singleNamespace" -}}
{{- if or (and .Values.application.spec (ne .Values.application.from "Namespaces")) (and .Values.application.existing (eq .Values.application.from "Resource")) }}
{{- include "tradewind.applicationNamespace" . }}
{{- end }}
{{- end }}

{{/* Namespaces that are watched, separated by commas; `*` for all. The single application's is always one of them. */}}
{{- define "tradewind.watched" -}}
{{- $named := .Values.watchNamespaces }}
{{- $single := include "tradewind.singleNamespace" . }}
{{- if not $named }}
{{- include "tradewind.applicationNamespace" . }}
{{- else if or (has "*" $named) (not $single) }}
{{- join "," $named }}
{{- else }}
{{- append $named $single | uniq | join "," }}
{{- end }}
{{- end }}

{{/* Namespace of the ScaledObjects; empty where the application may be in one of several. */}}
{{- define "tradewind.scaledObjectNamespace" -}}
{{- $watched := include "tradewind.watched" . }}
{{- default (regexMatch "[*,]" $watched | ternary "" $watched) (include "tradewind.singleNamespace" .) }}
{{- end }}

{{/* "true" when a file with the sections `sources` and `store` stands beside an Application. */}}
{{- define "tradewind.hasSourcesFile" -}}
{{- if and (include "tradewind.readsResources" .) (or .Values.application.sources .Values.application.store) }}true{{ end }}
{{- end }}

{{/* "true" when files are mounted at /etc/tradewind/application. */}}
{{- define "tradewind.hasApplicationFiles" -}}
{{- if or (eq .Values.application.from "ConfigMap") (include "tradewind.hasSourcesFile" .) }}true{{ end }}
{{- end }}

{{- define "tradewind.applicationName" -}}
{{- default (include "tradewind.fullname" .) (get (.Values.application.spec | default dict) "name") }}
{{- end }}

{{/* Where applications are, a line each: the predictor's --config, and the scaler's for the bounds that its guard keeps. */}}
{{- define "tradewind.predictorConfig" -}}
{{- if eq .Values.application.from "Namespaces" -}}
{{- range splitList "," (include "tradewind.watched" .) }}
crd:{{ . }}/*
{{- end }}
{{- else if eq .Values.application.from "ConfigMap" -}}
/etc/tradewind/application/app.yaml
{{- else if .Values.application.existing -}}
crd:{{ contains "/" .Values.application.existing | ternary .Values.application.existing (printf "%s/%s" .Release.Namespace .Values.application.existing) }}
{{- else -}}
crd:{{ include "tradewind.applicationNamespace" . }}/{{ include "tradewind.applicationName" . }}
{{- end }}
{{- end }}

{{/* Value of --allowed-hosts; names under svc.cluster.local are allowed anyway. */}}
{{- define "tradewind.allowedHosts" -}}
{{- $own := ne .Values.clusterDomain "cluster.local" | ternary (list (printf "*.svc.%s" .Values.clusterDomain)) list }}
{{- concat $own .Values.allowedHosts | join "," }}
{{- end }}

{{- define "tradewind.tlsSecret" -}}
{{- default (printf "%s-scaler-tls" (include "tradewind.fullname" .)) .Values.scaler.tls.existingSecret }}
{{- end }}

{{- define "tradewind.clientSecret" -}}
{{- printf "%s-keda-client" (include "tradewind.fullname" .) }}
{{- end }}

{{- define "tradewind.clientNamespace" -}}
{{- $own := include "tradewind.generatesScalerTls" . | empty | ternary .Values.scaler.tls.certManager.client.namespace .Values.certificates.client.namespace }}
{{- default .Release.Namespace $own }}
{{- end }}

{{/* "true" when the chart itself makes the certificates of KEDA's port. */}}
{{- define "tradewind.generatesScalerTls" -}}
{{- $tls := .Values.scaler.tls }}
{{- if and .Values.certificates.generate $tls.enabled (not $tls.existingSecret) (not $tls.certManager.enabled) }}true{{ end }}
{{- end }}

{{/* "true" when KEDA's client certificate is made by this release, by cert-manager or by the chart. */}}
{{- define "tradewind.makesClientSecret" -}}
{{- if and .Values.scaler.tls.enabled (or .Values.scaler.tls.certManager.enabled (include "tradewind.generatesScalerTls" .)) }}true{{ end }}
{{- end }}

{{/* JSON of the names that the certificate of KEDA's port has; the first is in scalerAddress. */}}
{{- define "tradewind.scalerHosts" -}}
{{- $name := printf "%s-scaler" (include "tradewind.fullname" .) }}
{{- $in := printf "%s.%s" $name .Release.Namespace }}
{{- list (include "tradewind.scalerHost" .) (printf "%s.svc" $in) $in $name | toJson }}
{{- end }}

{{- define "tradewind.scalerHost" -}}
{{- printf "%s-scaler.%s.svc.%s" (include "tradewind.fullname" .) .Release.Namespace .Values.clusterDomain }}
{{- end }}

{{/*
One volume of the Secrets that a container needs for its ports, and of those that it shows to others. Takes a dict: name, mode,
and files, a list of dicts: secret, folder, keys. Nothing without files.
*/}}
{{- define "tradewind.securityVolume" -}}
{{- if .files }}
- name: {{ .name }}
  projected:
    defaultMode: {{ .mode }}
    sources:
      {{- range .files }}
      {{- $folder := .folder }}
      - secret:
          name: {{ .secret }}
          items:
            {{- range .keys }}
            - { key: {{ . }}, path: {{ $folder }}/{{ . }} }
            {{- end }}
      {{- end }}
{{- end }}
{{- end }}

{{/*
JSON of the files of a container, for the volume above. Takes two dicts of values with `tlsSecret` and `tokenSecret`, by folder: own,
those of the container's ports, and called, those of the ports that it calls.
*/}}
{{- define "tradewind.securityFiles" -}}
{{- $files := list }}
{{- range $folder, $security := .own }}
{{- with $security.tlsSecret }}{{ $files = append $files (dict "secret" . "folder" $folder "keys" (list "tls.crt" "tls.key")) }}{{ end }}
{{- with $security.tokenSecret }}{{ $files = append $files (dict "secret" . "folder" $folder "keys" (list ($security.tokensKey | default "token"))) }}{{ end }}
{{- end }}
{{- range $folder, $security := .called }}
{{- with $security.tlsSecret }}{{ $files = append $files (dict "secret" . "folder" $folder "keys" (list "ca.crt")) }}{{ end }}
{{- with $security.tokenSecret }}{{ $files = append $files (dict "secret" . "folder" $folder "keys" (list "token")) }}{{ end }}
{{- end }}
{{- toJson $files }}
{{- end }}

{{- define "tradewind.agentFiles" -}}
{{- include "tradewind.securityFiles" (dict "own" (dict "http" .Values.agent.http) "called" dict) }}
{{- end }}

{{/* Secret with the certificate that predictors show to each other; empty: they speak plain HTTP. */}}
{{- define "tradewind.peersTlsSecret" -}}
{{- if include "tradewind.hasPeers" . }}
{{- default (.Values.certificates.generate | ternary (printf "%s-peers-tls" (include "tradewind.fullname" .)) "") .Values.predictor.peers.tlsSecret }}
{{- end }}
{{- end }}

{{- define "tradewind.predictorFiles" -}}
{{- $own := dict "http" .Values.predictor.http "otlp" .Values.predictor.otlp }}
{{- $called := .Values.agent.enabled | ternary (dict "agents" .Values.agent.http) dict }}
{{- with include "tradewind.peersTlsSecret" . }}
{{- $_ := set $own "peers" (dict "tlsSecret" .) }}
{{- $_ := set $called "peers" (dict "tlsSecret" .) }}
{{- end }}
{{- include "tradewind.securityFiles" (dict "own" $own "called" $called) }}
{{- end }}

{{/* Whether the exporter asks agents while no plan comes: it knows containers by the names of their pods. */}}
{{- define "tradewind.exporterAsksAgents" -}}
{{- if and .Values.agent.enabled .Values.agent.podNames.enabled (include "tradewind.hasPredictor" .) }}true{{ end }}
{{- end }}

{{- define "tradewind.exporterFiles" -}}
{{- $called := include "tradewind.hasPredictor" . | empty | ternary dict (dict "predictor" .Values.predictor.http) }}
{{- if include "tradewind.exporterAsksAgents" . }}
{{- $_ := set $called "agents" .Values.agent.http }}
{{- end }}
{{- include "tradewind.securityFiles" (dict "own" (dict "http" .Values.scaler.http) "called" $called) }}
{{- end }}

{{/* Flags of a port. Takes a dict: flag, its prefix, folder and security. */}}
{{- define "tradewind.portFlags" -}}
{{- if .security.tlsSecret }}
- --{{ .flag }}-tls-cert=/etc/tradewind/security/{{ .flag }}/tls.crt
- --{{ .flag }}-tls-key=/etc/tradewind/security/{{ .flag }}/tls.key
{{- end }}
{{- if .security.tokenSecret }}
- --{{ .flag }}-token-file=/etc/tradewind/security/{{ .flag }}/{{ .security.tokensKey | default "token" }}
{{- end }}
{{- end }}

{{/* `http`, or `https` where a port speaks TLS. */}}
{{- define "tradewind.scheme" -}}
{{- .tlsSecret | empty | ternary "http" "https" }}
{{- end }}

{{/* JSON of the namespaces, other than the release's, that objects of the chart are put into. */}}
{{- define "tradewind.otherNamespaces" -}}
{{- $names := list }}
{{- if .Values.rbac.create }}
{{- $names = splitList "," (include "tradewind.watched" .) }}
{{- end }}
{{- if and .Values.application.spec (eq .Values.application.from "Resource") }}
{{- $names = append $names (include "tradewind.applicationNamespace" .) }}
{{- end }}
{{- if include "tradewind.makesClientSecret" . }}
{{- $names = append $names (include "tradewind.clientNamespace" .) }}
{{- end }}
{{- with .Values.metrics.dashboards }}
{{- if .enabled }}
{{- $names = append $names .namespace }}
{{- end }}
{{- end }}
{{- without $names "" "*" .Release.Namespace | uniq | toJson }}
{{- end }}

{{/*
Ends an installation into a namespace that does not exist before anything is created: Helm itself would stop half-way. Without a
cluster (`helm template`, Argo CD) `lookup` finds nothing at all, not even kube-system, and nothing is said.
*/}}
{{- define "tradewind.checkNamespaces" -}}
{{- if and .Values.checkNamespaces (lookup "v1" "Namespace" "" "kube-system") }}
{{- $missing := list }}
{{- range fromJsonArray (include "tradewind.otherNamespaces" .) }}
{{- if not (lookup "v1" "Namespace" "" .) }}{{ $missing = append $missing . }}{{ end }}
{{- end }}
{{- with $missing }}
{{- fail (printf "nothing was installed: objects of this release belong into namespaces that do not exist: %s. Make them first (kubectl create namespace %s), or correct application.spec.namespace or watchNamespaces; then run the same command again." (join ", " .) (first .)) }}
{{- end }}
{{- end }}
{{- end }}

{{/* What cannot be meant, beyond what values.schema.json can say. */}}
{{- define "tradewind.check" -}}
{{- include "tradewind.checkNamespaces" . }}
{{- $tls := .Values.scaler.tls }}
{{- if and $tls.enabled (not $tls.existingSecret) (not $tls.certManager.enabled) (not .Values.certificates.generate) }}
{{- fail "scaler.tls.enabled needs a certificate: set certificates.generate, scaler.tls.certManager.enabled or scaler.tls.existingSecret" }}
{{- end }}
{{- if and $tls.existingSecret $tls.certManager.enabled }}
{{- fail "set scaler.tls.existingSecret or scaler.tls.certManager.enabled, not both" }}
{{- end }}
{{- if and (not $tls.enabled) (or $tls.existingSecret $tls.certManager.enabled) }}
{{- fail "a certificate is configured but scaler.tls.enabled is false: KEDA would be served without TLS" }}
{{- end }}
{{- if and $tls.certManager.client.namespace (ne $tls.certManager.client.namespace .Release.Namespace) (ne (get $tls.certManager.issuerRef "kind") "ClusterIssuer") }}
{{- fail "scaler.tls.certManager.client.namespace outside of the release's namespace needs scaler.tls.certManager.issuerRef of kind ClusterIssuer" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled .Values.metrics.podMonitor.enabled }}
{{- fail "set metrics.serviceMonitor.enabled or metrics.podMonitor.enabled, not both: everything would be scraped twice" }}
{{- end }}
{{- if and .Values.application.existing .Values.application.spec }}
{{- fail "set application.existing or application.spec, not both" }}
{{- end }}
{{- if and (eq .Values.application.from "Namespaces") (or .Values.application.existing .Values.application.spec) }}
{{- fail "application.from: Namespaces plans every Application of watchNamespaces: leave application.spec and application.existing empty, and create Application resources" }}
{{- end }}
{{- if and (eq .Values.application.from "ConfigMap") .Values.application.existing (or .Values.application.sources .Values.application.store) }}
{{- fail "application.sources and application.store belong into the ConfigMap that application.existing names" }}
{{- end }}
{{- if and (eq .Values.application.from "ConfigMap") .Values.application.existing (not .Values.watchNamespaces) }}
{{- fail "set watchNamespaces: which namespace the application of an existing ConfigMap is in is not known here" }}
{{- end }}
{{- if and (has "*" .Values.watchNamespaces) (gt (len .Values.watchNamespaces) 1) }}
{{- fail "watchNamespaces: '*' means all namespaces; name no others beside it" }}
{{- end }}
{{- if and (eq .Values.application.from "ConfigMap") (contains "/" .Values.application.existing) }}
{{- fail "application.existing names a ConfigMap of the release's namespace: it has no '/'; set application.from: Resource for an Application" }}
{{- end }}
{{- if lt (int .Values.scaler.terminationGracePeriodSeconds) (add 10 (int .Values.scaler.preStopSleepSeconds)) }}
{{- fail "scaler.terminationGracePeriodSeconds must be at least 10 s more than scaler.preStopSleepSeconds: a pod stops only after it" }}
{{- end }}
{{- if and .Values.scaler.podDisruptionBudget.enabled (lt (int .Values.scaler.replicas) 2) (eq (toString .Values.scaler.podDisruptionBudget.minAvailable) "1") (eq (toString .Values.scaler.podDisruptionBudget.maxUnavailable) "") }}
{{- fail "scaler.replicas: 1 with podDisruptionBudget.minAvailable: 1 would block every node drain; run 2 or set scaler.podDisruptionBudget.enabled: false" }}
{{- end }}
{{- end }}

{{/* Rule of a NetworkPolicy that lets pods call the Kubernetes API. */}}
{{- define "tradewind.apiServerEgress" -}}
# The Kubernetes API, which no selector matches.
- ports:
    {{- range .Values.networkPolicy.apiServer.ports }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- with .Values.networkPolicy.apiServer.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
