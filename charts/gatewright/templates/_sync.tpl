{{- /* Knows what the daemon reads: its settings, what opens its source, and where values of keys lie. */}}
{{- define "gatewright.syncEnvironment" -}}
{{- $v := .Values -}}
- {name: GATEWRIGHT_CREDENTIALS, value: /run/gatewright/credentials.json}
- {name: GATEWRIGHT_SYNC_PORT, value: "9464"}
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
{{- end }}

{{- /* Takes the keys of a Secret or ConfigMap by the names of their files; leaves out what has no key. */}}
{{- define "gatewright.items" -}}
{{- $items := list -}}
{{- range $path, $key := . }}{{ if $key }}{{ $items = append $items (dict "key" $key "path" $path) }}{{ end }}{{ end -}}
{{- toJson $items -}}
{{- end }}

{{- define "gatewright.syncVolumes" -}}
{{- $v := .Values -}}
- name: credentials
{{- if $v.sync.credentials.existingSecret }}
  secret: {secretName: {{ $v.sync.credentials.existingSecret | quote }}, defaultMode: 0440, items: [{key: {{ $v.sync.credentials.key | quote }}, path: credentials.json}]}
{{- else }}
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{ include "gatewright.databaseVolumes" . }}
{{- end }}
- name: secrets
{{- if $v.sync.secretsVolume.source }}
  {{- toYaml $v.sync.secretsVolume.source | nindent 2 }}
{{- else }}
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
{{- end }}
{{- with $v.sync.configMap }}
- name: source
  configMap: {name: {{ . | quote }}}
{{- end }}
{{- with $v.sync.git.existingSecret }}
- name: git
  secret: {secretName: {{ . | quote }}, defaultMode: 0440, items: {{ include "gatewright.items" (omit $v.sync.git.keys "username") }}}
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
  secret: {secretName: {{ .existingSecret | quote }}, defaultMode: 0440, items: [{key: {{ .key | quote }}, path: secret}]}
{{- end }}
{{- end }}
{{- end }}
