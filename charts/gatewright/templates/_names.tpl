{{- /* Names, labels and values in forms that several templates need. */}}
{{- /*
A name of at most 46 characters: a StatefulSet with the suffix -mysql may have 52, because its pods
carry the name and a hash in a label. Longer names end in a hash, so that two releases whose names
begin alike differ.
*/}}
{{- define "gatewright.name" -}}
{{- $base := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-gatewright" .Release.Name) (contains "gatewright" .Release.Name)) -}}
{{- if gt (len $base) 46 -}}
{{- printf "%s-%s" ($base | trunc 37 | trimSuffix "-") (sha256sum $base | trunc 8) -}}
{{- else -}}
{{- $base -}}
{{- end -}}
{{- end }}

{{- /* Takes a scalar and returns its text. Helm reads whole numbers as floats and would write a million as 1e+06. */}}
{{- define "gatewright.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end }}

{{- define "gatewright.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "gatewright.selector" . }}
{{- end }}

{{- /* Must never change: the selector of a Deployment is immutable. */}}
{{- define "gatewright.selector" -}}
app.kubernetes.io/name: gatewright
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gatewright.serviceAccount" -}}
{{- .Values.serviceAccount.existing | default (include "gatewright.name" .) -}}
{{- end }}

{{- /* Not empty if sync runs in the server's pods. */}}
{{- define "gatewright.syncIsInServer" -}}
{{- if and .Values.sync.enabled (eq .Values.mode "all-in-one") }}true{{ end -}}
{{- end }}

{{- /* Not empty if sync accepts pushes of the Git server. */}}
{{- define "gatewright.receivesPushes" -}}
{{- if and .Values.sync.enabled .Values.sync.webhook.existingSecret }}true{{ end -}}
{{- end }}

{{- /* Not empty if the gateway has its own pods. */}}
{{- define "gatewright.gatewayIsApart" -}}
{{- if and .Values.gateway.enabled (or .Values.link.url (eq .Values.mode "components")) }}true{{ end -}}
{{- end }}

{{- /* Not empty if the MCP gateway has its own pods. */}}
{{- define "gatewright.mcpIsApart" -}}
{{- if and .Values.mcp.enabled (or .Values.link.url (eq .Values.mode "components")) }}true{{ end -}}
{{- end }}

{{- /* Not empty if the release has a control plane. */}}
{{- define "gatewright.isHome" -}}
{{- if not .Values.link.url }}true{{ end -}}
{{- end }}

{{- /* Not empty if pods have a database: that of the control plane, or that of a region. */}}
{{- define "gatewright.hasDatabase" -}}
{{- if or (not .Values.link.url) .Values.link.region }}true{{ end -}}
{{- end }}

{{- /* The component whose pods run the jobs and accept gateways without a database. */}}
{{- define "gatewright.workingComponent" -}}
{{- if include "gatewright.isHome" . }}server{{ else if .Values.gateway.enabled }}gateway{{ else }}mcp{{ end -}}
{{- end }}

{{- /* Not empty if pods hold certificates of the link. */}}
{{- define "gatewright.isLinked" -}}
{{- if or .Values.link.enabled .Values.link.url }}true{{ end -}}
{{- end }}

{{- /* The Secret with the certificates of the link. */}}
{{- define "gatewright.linkSecret" -}}
{{- .Values.link.certificates.existingSecret | default (printf "%s-link" (include "gatewright.name" .)) -}}
{{- end }}

{{- /* The component whose pods relay MCP. */}}
{{- define "gatewright.mcpComponent" -}}
{{- if include "gatewright.mcpIsApart" . }}mcp{{ else }}server{{ end -}}
{{- end }}

{{- /* A JSON list of the components that serve requests; if the release has a database, each of their pods has a pool of connections. */}}
{{- define "gatewright.servingComponents" -}}
{{- $components := ternary (list) (list "server") (not (empty .Values.link.url)) -}}
{{- if include "gatewright.gatewayIsApart" . }}{{ $components = append $components "gateway" }}{{ end -}}
{{- if include "gatewright.mcpIsApart" . }}{{ $components = append $components "mcp" }}{{ end -}}
{{- toJson $components -}}
{{- end }}

{{- /* The component whose pods run inference. */}}
{{- define "gatewright.gatewayComponent" -}}
{{- if include "gatewright.gatewayIsApart" . }}gateway{{ else }}server{{ end -}}
{{- end }}

{{- /* The component whose pods run sync. */}}
{{- define "gatewright.syncComponent" -}}
{{- if include "gatewright.syncIsInServer" . }}server{{ else }}sync{{ end -}}
{{- end }}

{{- define "gatewright.syncServiceAccount" -}}
{{- if include "gatewright.syncIsInServer" . }}{{ include "gatewright.serviceAccount" . }}{{ else }}{{ include "gatewright.ownSyncServiceAccount" . }}{{ end -}}
{{- end }}

{{- define "gatewright.ownSyncServiceAccount" -}}
{{- .Values.sync.serviceAccount.existing | default (printf "%s-sync" (include "gatewright.name" .)) -}}
{{- end }}

{{- /* Not empty if the daemon uses the Kubernetes API. */}}
{{- define "gatewright.usesKubernetes" -}}
{{- with .Values.sync.kubernetes -}}
{{- if or .enabled .status .lease }}true{{ end -}}
{{- end -}}
{{- end }}

{{- /* A JSON list of the namespaces that manifests may name; empty if Kubernetes is not used. */}}
{{- define "gatewright.grantedNamespaces" -}}
{{- with .Values.sync.kubernetes -}}
{{- if .enabled }}{{ .namespaces | default (list $.Release.Namespace) | toJson }}{{ else }}[]{{ end -}}
{{- end -}}
{{- end }}

{{- /* Takes an address and returns its port. `git@host:path` is ssh. */}}
{{- define "gatewright.portOf" -}}
{{- if contains "://" . -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (get (dict "http" "80" "https" "443") $url.scheme | default "22") -}}
{{- else -}}
22
{{- end -}}
{{- end }}

{{- /* Takes {root, image: a block of values with registry, repository, tag, digest}. */}}
{{- define "gatewright.imageOf" -}}
{{- $registry := .root.Values.global.imageRegistry | default .image.registry -}}
{{- $name := printf "%s%s" (ternary (printf "%s/" $registry) "" (ne $registry "")) .image.repository -}}
{{- if .image.digest }}{{ printf "%s@%s" $name .image.digest }}{{ else }}{{ printf "%s:%s" $name (.image.tag | default .root.Chart.AppVersion) }}{{ end -}}
{{- end }}

{{- define "gatewright.image" -}}
{{- include "gatewright.imageOf" (dict "root" . "image" .Values.image) -}}
{{- end }}

{{- /* The port of the mail server; empty if no mail is sent. */}}
{{- define "gatewright.mailPort" -}}
{{- $settings := .Values.settings -}}
{{- $isOff := has (toString (get $settings "SMTP_MAIL") | lower) (list "off" "false" "no" "0") -}}
{{- if and (get $settings "SMTP_HOST") (not $isOff) -}}
{{- $usual := get (dict "implicit" 465 "none" 25) (toString (get $settings "GATEWRIGHT_SMTP_TLS") | lower) | default 587 -}}
{{- get $settings "SMTP_PORT" | default $usual -}}
{{- end -}}
{{- end }}

{{- /* The base URL of inference without /v1. */}}
{{- define "gatewright.inferenceUrl" -}}
{{- $v := .Values -}}
{{- if and $v.ingress.enabled $v.ingress.inference.host -}}
{{- printf "%s://%s" (ternary "https" "http" (not (empty (include "gatewright.inferenceTlsSecret" .)))) $v.ingress.inference.host -}}
{{- else -}}
{{- printf "http://%s-gateway.%s:%v" (include "gatewright.name" .) .Release.Namespace $v.gateway.service.port -}}
{{- end -}}
{{- end }}

{{- /* The base URL of MCP without the path of a server. */}}
{{- define "gatewright.mcpUrl" -}}
{{- $v := .Values -}}
{{- if and $v.ingress.enabled $v.ingress.mcp.host -}}
{{- printf "%s://%s" (ternary "https" "http" (not (empty (include "gatewright.mcpTlsSecret" .)))) $v.ingress.mcp.host -}}
{{- else -}}
{{- printf "http://%s-mcp.%s:%v" (include "gatewright.name" .) .Release.Namespace $v.mcp.service.port -}}
{{- end -}}
{{- end }}

{{- define "gatewright.mcpTlsSecret" -}}
{{- .Values.ingress.mcp.tlsSecret | default .Values.ingress.tlsSecret -}}
{{- end }}

{{- define "gatewright.inferenceTlsSecret" -}}
{{- .Values.ingress.inference.tlsSecret | default .Values.ingress.tlsSecret -}}
{{- end }}

{{- /* The public address of the API. */}}
{{- define "gatewright.url" -}}
{{- .Values.server.url | default (include "gatewright.serviceUrl" .) -}}
{{- end }}

{{- /* The address of the API within the cluster. */}}
{{- define "gatewright.serviceUrl" -}}
{{- printf "http://%s-server.%s:%v" (include "gatewright.name" .) .Release.Namespace .Values.server.service.port -}}
{{- end }}

{{- /* The labels that Prometheus gives to the metrics of this release, as its matchers. */}}
{{- define "gatewright.metricLabels" -}}
{{- printf "namespace=%q, service=%q" .Release.Namespace (printf "%s-metrics" (include "gatewright.name" .)) -}}
{{- end }}

{{- /* A JSON list of the components that have pods of their own and run at all times. */}}
{{- define "gatewright.monitoredComponents" -}}
{{- $components := include "gatewright.servingComponents" . | fromJsonArray -}}
{{- if and .Values.sync.enabled (not (include "gatewright.syncIsInServer" .)) }}{{ $components = append $components "sync" }}{{ end -}}
{{- toJson $components -}}
{{- end }}
