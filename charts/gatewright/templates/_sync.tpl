{{- /* Templates of the sync daemon: settings, source credentials, and volumes of key values. */}}
{{- define "gatewright.syncEnvironment" -}}
{{- $v := .Values -}}
- {name: GATEWRIGHT_CREDENTIALS, value: /run/gatewright/credentials.json}
- {name: GATEWRIGHT_SYNC_PORT, value: {{ include "gatewright.syncPort" . | quote }}}
- {name: GATEWRIGHT_OWNER, value: {{ $v.sync.owner | quote }}}
- {name: GATEWRIGHT_SYNC_DRIFT, value: {{ $v.sync.drift | quote }}}
- {name: GATEWRIGHT_SECRETS_DIR, value: /var/lib/gatewright/secrets}
{{- if gt (int $v.sync.intervalSeconds) 0 }}
- {name: GATEWRIGHT_SYNC_INTERVAL_SECONDS, value: {{ $v.sync.intervalSeconds | quote }}}
{{- end }}
{{- if or $v.customCA.existingSecret $v.customCA.existingConfigMap }}
- {name: GATEWRIGHT_GIT_CA_FILE, value: /etc/gatewright/ca/ca.crt}
{{- end }}
{{- if $v.sync.git.existingSecret }}
{{- range $variable, $key := dict "GATEWRIGHT_GIT_TOKEN_FILE" "token" "GATEWRIGHT_GIT_SSH_KEY_FILE" "sshKey" "GATEWRIGHT_GIT_KNOWN_HOSTS_FILE" "knownHosts" }}
{{- if get $v.sync.git.keys $key }}
- {name: {{ $variable }}, value: /etc/gatewright/git/{{ $key }}}
{{- end }}
{{- end }}
{{- with $v.sync.git.keys.username }}
- {name: GATEWRIGHT_GIT_USERNAME, valueFrom: {secretKeyRef: {name: {{ $v.sync.git.existingSecret | quote }}, key: {{ . | quote }}}}}
{{- end }}
{{- end }}
{{- with $v.sync.git.verify }}
- {name: GATEWRIGHT_GIT_VERIFY, value: {{ . | quote }}}
{{- end }}
{{- if or $v.sync.git.signers.existingSecret $v.sync.git.signers.existingConfigMap }}
{{- range $variable, $key := dict "GATEWRIGHT_GIT_GPG_KEYS_FILE" "gpgKeys" "GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE" "allowedSigners" "GATEWRIGHT_GIT_REVOKED_SIGNERS_FILE" "revokedSigners" }}
{{- if get $v.sync.git.signers.keys $key }}
- {name: {{ $variable }}, value: /etc/gatewright/signers/{{ $key }}}
{{- end }}
{{- end }}
{{- end }}
{{- if $v.sync.webhook.existingSecret }}
- {name: GATEWRIGHT_SYNC_WEBHOOK_SECRET_FILE, value: /etc/gatewright/webhook/secret}
{{- end }}
{{- range $variable, $proxy := dict "HTTP_PROXY" $v.proxy.http "HTTPS_PROXY" $v.proxy.https }}
{{- if $proxy }}
- {name: {{ $variable }}, value: {{ $proxy | quote }}}
{{- end }}
{{- end }}
- {name: NO_PROXY, value: {{ append $v.proxy.noProxy (printf "%s-server.%s" (include "gatewright.name" .) .Release.Namespace) | join "," | quote }}}
{{- range $name, $_ := $v.sync.secretSettings }}
- {name: {{ $name }}_FILE, value: /etc/gatewright/settings/{{ $name }}}
{{- end }}
{{- with include "gatewright.grantedNamespaces" . | fromJsonArray }}
- {name: GATEWRIGHT_KUBERNETES_NAMESPACES, value: {{ join "," . | quote }}}
{{- end }}
{{- $name := printf "%s/%s-sync" .Release.Namespace (include "gatewright.name" .) }}
{{- if $v.sync.kubernetes.status }}
- {name: GATEWRIGHT_KUBERNETES_STATUS, value: {{ $name }}-status}
{{- end }}
{{- if $v.sync.kubernetes.lease }}
- {name: GATEWRIGHT_KUBERNETES_LEASE, value: {{ $name }}}
{{- end }}
{{- if $v.sync.vault.address }}
{{- include "gatewright.vaultEnvironment" . }}
{{- end }}
{{- end }}

{{- define "gatewright.vaultEnvironment" -}}
{{- with .Values.sync.vault }}
- {name: GATEWRIGHT_VAULT_ADDRESS, value: {{ .address | quote }}}
- {name: GATEWRIGHT_VAULT_PATHS, value: {{ join "," .paths | quote }}}
{{- range $variable, $value := dict "NAMESPACE" .namespace "AUTH_MOUNT" .authMount "KUBERNETES_ROLE" .kubernetesRole "ROLE_ID" .roleId }}
{{- if $value }}
- {name: GATEWRIGHT_VAULT_{{ $variable }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}
{{- if .kubernetesRole }}
- {name: GATEWRIGHT_VAULT_KUBERNETES_TOKEN_FILE, value: /var/run/secrets/gatewright/vault/token}
{{- end }}
{{- range $variable, $key := dict "CA_FILE" "ca" "SECRET_ID_FILE" "secretId" "TOKEN_FILE" "token" }}
{{- if get $.Values.sync.vault.keys $key }}
- {name: GATEWRIGHT_VAULT_{{ $variable }}, value: /etc/gatewright/vault/{{ $key }}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Takes the keys of a Secret or ConfigMap by file name; omits files without a key. */}}
{{- define "gatewright.items" -}}
{{- $items := list -}}
{{- range $path, $key := . }}{{ if $key }}{{ $items = append $items (dict "key" $key "path" $path) }}{{ end }}{{ end -}}
{{- toJson $items -}}
{{- end }}

{{- /* Volume mounts of the daemon's container. */}}
{{- define "gatewright.syncMounts" -}}
{{- $v := .Values -}}
- {name: credentials, mountPath: /run/gatewright, readOnly: true}
- {name: secrets, mountPath: /var/lib/gatewright/secrets}
{{- if or $v.sync.configMap $v.sync.sourceVolume.source }}
- {name: source, mountPath: /etc/gatewright/source, readOnly: true}
{{- end }}
{{- if $v.sync.git.existingSecret }}
- {name: git, mountPath: /etc/gatewright/git, readOnly: true}
{{- end }}
{{- if or $v.sync.git.signers.existingSecret $v.sync.git.signers.existingConfigMap }}
- {name: signers, mountPath: /etc/gatewright/signers, readOnly: true}
{{- end }}
{{- if $v.sync.webhook.existingSecret }}
- {name: webhook, mountPath: /etc/gatewright/webhook, readOnly: true}
{{- end }}
{{- if $v.sync.secretSettings }}
- {name: settings, mountPath: /etc/gatewright/settings, readOnly: true}
{{- end }}
{{- if include "gatewright.usesKubernetes" . }}
- {name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end }}
{{- with $v.sync.vault }}
{{- if and .address .existingSecret }}
- {name: vault, mountPath: /etc/gatewright/vault, readOnly: true}
{{- end }}
{{- if and .address .kubernetesRole }}
- {name: vault-account, mountPath: /var/run/secrets/gatewright/vault, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "gatewright.syncVolumes" -}}
{{- $v := .Values -}}
- name: credentials
{{- if $v.sync.credentials.existingSecret }}
  secret: {secretName: {{ $v.sync.credentials.existingSecret | quote }}, defaultMode: 288, items: [{key: {{ $v.sync.credentials.key | quote }}, path: credentials.json}]}
{{- else }}
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end }}
- name: secrets
{{- if $v.sync.secretsVolume.source }}
  {{- toYaml $v.sync.secretsVolume.source | nindent 2 }}
{{- else }}
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
{{- end }}
{{- if $v.sync.configMap }}
- name: source
  configMap: {name: {{ $v.sync.configMap | quote }}}
{{- else if $v.sync.sourceVolume.source }}
- name: source
  {{- toYaml $v.sync.sourceVolume.source | nindent 2 }}
{{- end }}
{{- with $v.sync.secretSettings }}
- name: settings
  projected:
    defaultMode: 288
    sources:
    {{- range $name, $from := . }}
      - secret: {name: {{ $from.secret | quote }}, items: [{key: {{ $from.key | quote }}, path: {{ $name }}}]}
    {{- end }}
{{- end }}
{{- if include "gatewright.usesKubernetes" . }}
# The projected service account volume that Kubernetes would mount, for this container only.
- name: account
  projected:
    defaultMode: 288
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
      - downwardAPI: {items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]}
{{- end }}
{{- with $v.sync.vault }}
{{- if and .address .existingSecret }}
- name: vault
  secret: {secretName: {{ .existingSecret | quote }}, defaultMode: 288, items: {{ include "gatewright.items" .keys }}}
{{- end }}
{{- if and .address .kubernetesRole }}
- name: vault-account
  projected:
    defaultMode: 288
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600{{ with .audience }}, audience: {{ . | quote }}{{ end }}}
{{- end }}
{{- end }}
{{- with $v.sync.git.existingSecret }}
- name: git
  secret: {secretName: {{ . | quote }}, defaultMode: 288, items: {{ include "gatewright.items" (omit $v.sync.git.keys "username") }}}
{{- end }}
{{- with $v.sync.git.signers }}
{{- if .existingSecret }}
- name: signers
  secret: {secretName: {{ .existingSecret | quote }}, items: {{ include "gatewright.items" .keys }}}
{{- else if .existingConfigMap }}
- name: signers
  configMap: {name: {{ .existingConfigMap | quote }}, items: {{ include "gatewright.items" .keys }}}
{{- end }}
{{- end }}
{{- with $v.sync.webhook }}
{{- if .existingSecret }}
- name: webhook
  secret: {secretName: {{ .existingSecret | quote }}, defaultMode: 288, items: [{key: {{ .key | quote }}, path: secret}]}
{{- end }}
{{- end }}
{{- end }}

{{- define "gatewright.syncPort" -}}
{{- if include "gatewright.syncIsInServer" . }}9465{{ else }}9464{{ end -}}
{{- end }}

{{- /*
Init container that creates the daemon's service account. The daemon uses the Service, because the public
address may be unreachable from within the cluster; in a shared pod it uses localhost, because the Service is
not ready yet.
*/}}
{{- define "gatewright.credentialsContainer" -}}
{{- $url := ternary "http://127.0.0.1:8080" (include "gatewright.serviceUrl" .) (not (empty (include "gatewright.syncIsInServer" .))) -}}
{{- $words := list "bootstrap" "--derived" "--name" "sync" "--url" $url "--file" "/run/gatewright/credentials.json" -}}
{{- if .Values.sync.tsgId }}{{ $words = concat $words (list "--tsg-id" .Values.sync.tsgId) }}{{ end -}}
{{- $mounts := list (dict "name" "credentials" "mountPath" "/run/gatewright") -}}
{{- include "gatewright.databaseContainer" (dict "root" . "name" "credentials" "args" $words "resources" .Values.sync.resources "migrates" false "mounts" $mounts) -}}
{{- end }}

{{- /* The daemon's container. Beside a server it has no readiness probe, so that it cannot make the server's pod unready. */}}
{{- define "gatewright.syncContainer" -}}
{{- $v := .Values -}}
{{- $isAllInOne := not (empty (include "gatewright.syncIsInServer" .)) -}}
{{- $port := ternary "sync" "metrics" $isAllInOne -}}
- name: sync
  image: {{ include "gatewright.image" . }}
  imagePullPolicy: {{ $v.image.pullPolicy }}
  terminationMessagePolicy: FallbackToLogsOnError
  args: {{ $v.sync.prune | ternary (list) (list "--no-prune") | concat (list "sync" ($v.sync.source | default "/etc/gatewright/source")) | toJson }}
  securityContext: {{- include "gatewright.containerSecurity" . | nindent 4 }}
  env:
    # The daemon is idle most of the time: freed memory is returned to the system at once.
    - {name: MALLOC_MMAP_THRESHOLD_, value: "32768"}
    - {name: MALLOC_TRIM_THRESHOLD_, value: "32768"}
    - {name: MALLOC_TOP_PAD_, value: "4096"}
    {{- include "gatewright.environment" . | nindent 4 }}
    {{- include "gatewright.syncEnvironment" . | nindent 4 }}
    {{- with $v.sync.pod.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $v.sync.pod.envFrom }}
  envFrom: {{ toJson . }}
  {{- end }}
  ports:
    - {name: {{ $port }}, containerPort: {{ include "gatewright.syncPort" . }}}
  startupProbe: {httpGet: {path: /livez, port: {{ $port }}}, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 120}
  livenessProbe: {httpGet: {path: /livez, port: {{ $port }}}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
  {{- if not $isAllInOne }}
  readinessProbe: {httpGet: {path: /readyz, port: {{ $port }}}, periodSeconds: 5, timeoutSeconds: 5}
  {{- end }}
  resources: {{ toJson $v.sync.resources }}
  volumeMounts:
    {{- include "gatewright.commonMounts" . | nindent 4 }}
    {{- include "gatewright.syncMounts" . | nindent 4 }}
    {{- with $v.sync.pod.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
