{{- /* Templates shared by all pods: security, volumes, the environment of the program. */}}
{{- define "gatewright.podSecurity" -}}
runAsNonRoot: true
{{- if not .Values.openshift }}
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
{{- end }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "gatewright.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* Takes {root, pod: the `pod` block of a component, component}. */}}
{{- define "gatewright.podSpec" -}}
{{- with .root.Values.global.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
enableServiceLinks: false
securityContext: {{- include "gatewright.podSecurity" .root | nindent 2 }}
{{- with .pod.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .pod.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- /*
Nodes and zones are spread over by different means: a constraint by zone would make the scheduler ignore
all constraints on nodes without a zone label, while an affinity ignores only itself there.
*/}}
{{- $selector := dict "matchLabels" (include "gatewright.selector" .root | fromYaml | merge (dict "app.kubernetes.io/component" .component)) }}
{{- $byZone := dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 50 "podAffinityTerm" (dict "topologyKey" "topology.kubernetes.io/zone" "labelSelector" $selector)))) }}
{{- with .pod.affinity | default (ternary (dict) $byZone (not (empty .pod.topologySpreadConstraints))) }}
affinity: {{ toJson . }}
{{- end }}
{{- with .pod.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- /* The pods of one revision are spread, so that those that an upgrade removes do not count. */}}
{{- $byNode := dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway" "matchLabelKeys" (list "pod-template-hash") }}
topologySpreadConstraints:
{{- range .pod.topologySpreadConstraints | default (list $byNode) }}
  {{- /* A constraint without a selector spreads the pods of its component. */}}
  - {{ ternary . (merge (dict "labelSelector" $selector) .) (hasKey . "labelSelector") | toJson }}
{{- end }}
{{- end }}

{{- /* Settings of every container of the program. */}}
{{- define "gatewright.environment" -}}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ include "gatewright.text" $value | quote }}}
{{- end }}
{{- if or .Values.customCA.existingSecret .Values.customCA.existingConfigMap }}
- {name: NODE_EXTRA_CA_CERTS, value: /etc/gatewright/ca/ca.crt}
{{- end }}
{{- end }}

{{- /* Storage of callers' files, for the pods that serve them. */}}
{{- define "gatewright.blobEnvironment" -}}
{{- with .Values.blobs }}
{{- if .volume }}
- {name: GATEWRIGHT_BLOB_DIR, value: /var/lib/gatewright/blobs}
{{- end }}
{{- with .s3 }}
{{- if .bucket }}
- {name: GATEWRIGHT_BLOB_S3_BUCKET, value: {{ .bucket | quote }}}
{{- with .endpoint }}
- {name: GATEWRIGHT_BLOB_S3_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- with .region }}
- {name: GATEWRIGHT_BLOB_S3_REGION, value: {{ . | quote }}}
{{- end }}
{{- with .prefix }}
- {name: GATEWRIGHT_BLOB_S3_PREFIX, value: {{ . | quote }}}
{{- end }}
{{- if .existingSecret }}
- {name: GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID, valueFrom: {secretKeyRef: {name: {{ .existingSecret | quote }}, key: {{ .keys.accessKeyId | quote }}}}}
- {name: GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY, valueFrom: {secretKeyRef: {name: {{ .existingSecret | quote }}, key: {{ .keys.secretAccessKey | quote }}}}}
{{- with .keys.sessionToken }}
- {name: GATEWRIGHT_BLOB_S3_SESSION_TOKEN, valueFrom: {secretKeyRef: {name: {{ $.Values.blobs.s3.existingSecret | quote }}, key: {{ . | quote }}}}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Folders of what a pod keeps for outages. The spool has folders of its own beside that of the snapshot. */}}
{{- define "gatewright.outageEnvironment" -}}
{{- with .Values.outages }}
{{- if .snapshot }}
- {name: GATEWRIGHT_SNAPSHOT_DIRECTORY, value: /var/lib/gatewright/outages/snapshot}
{{- if .snapshotInBucket }}
- {name: GATEWRIGHT_SNAPSHOT_BUCKET, value: "ON"}
{{- end }}
{{- end }}
{{- if .spool }}
- {name: GATEWRIGHT_SPOOL_DIRECTORY, value: /var/lib/gatewright/outages}
{{- end }}
{{- end }}
{{- end }}

{{- /* Takes {root, secret}: the master key, and the Secret of the user of the database. */}}
{{- define "gatewright.databaseEnvironment" -}}
{{- $v := .root.Values -}}
{{- $name := include "gatewright.name" .root -}}
- {name: GATEWRIGHT_MASTER_KEY_FILE, value: /etc/gatewright/master-key/master-key}
{{- if $v.masterKey.previousKey }}
- {name: GATEWRIGHT_MASTER_KEY_PREVIOUS_FILE, value: /etc/gatewright/master-key/previous}
{{- end }}
{{- if include "gatewright.hasDatabase" .root }}
- {name: DB_HOST, value: {{ ternary (printf "%s-mysql" $name) $v.mysql.host $v.mysql.embedded.enabled | quote }}}
- {name: DB_PORT, value: {{ $v.mysql.port | quote }}}
- {name: DB_NAME, value: {{ $v.mysql.database | quote }}}
- {name: DB_USER, valueFrom: {secretKeyRef: {name: {{ .secret | quote }}, key: {{ $v.mysql.keys.username | quote }}}}}
- {name: DB_PASS_FILE, value: /etc/gatewright/database/password}
{{- with $v.mysql.reader.host }}
- {name: DB_READER_HOST, value: {{ . | quote }}}
- {name: DB_READER_PORT, value: {{ $v.mysql.reader.port | quote }}}
- {name: MYSQL_WRITER_HADR_MODE, value: "ON"}
{{- with $v.mysql.reader.existingSecret }}
- {name: DB_READER_USER, valueFrom: {secretKeyRef: {name: {{ . | quote }}, key: {{ $v.mysql.keys.username | quote }}}}}
- {name: DB_READER_PASS_FILE, value: /etc/gatewright/database-reader/password}
{{- end }}
{{- end }}
- {name: DB_POOL_SIZE, value: {{ $v.mysql.poolSize | quote }}}
- {name: DB_SSL, value: {{ $v.mysql.tls.mode | quote }}}
{{- if $v.mysql.tls.existingSecret }}
{{- range $variable, $key := dict "DB_SSL_CA_FILE" "ca" "DB_SSL_CERT_FILE" "cert" "DB_SSL_KEY_FILE" "key" }}
{{- if get $v.mysql.tls.keys $key }}
- {name: {{ $variable }}, value: /etc/gatewright/database-tls/{{ $key }}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Takes {root, listens}: the ends of the link of a pod, and its certificates. */}}
{{- define "gatewright.linkEnvironment" -}}
{{- $link := .root.Values.link -}}
{{- with $link.url }}
- {name: GATEWRIGHT_LINK_URL, value: {{ . | quote }}}
{{- end }}
{{- with $link.region }}
- {name: GATEWRIGHT_REGION, value: {{ . | quote }}}
{{- end }}
{{- if .listens }}
- {name: GATEWRIGHT_LINK_PORT, value: "8443"}
- {name: GATEWRIGHT_LINK_CLIENTS, value: {{ join "," $link.clientNames | quote }}}
{{- end }}
- {name: GATEWRIGHT_LINK_CA_FILE, value: /etc/gatewright/link/ca}
- {name: GATEWRIGHT_LINK_CERT_FILE, value: /etc/gatewright/link/cert}
- {name: GATEWRIGHT_LINK_KEY_FILE, value: /etc/gatewright/link/key}
{{- end }}

{{- /* The volume with these certificates. */}}
{{- define "gatewright.linkVolume" -}}
{{- $keys := .Values.link.certificates.keys -}}
- name: link
  secret: {secretName: {{ include "gatewright.linkSecret" . | quote }}, defaultMode: 288, items: [{key: {{ $keys.ca | quote }}, path: ca}, {key: {{ $keys.cert | quote }}, path: cert}, {key: {{ $keys.key | quote }}, path: key}]}
{{- end }}

{{- /* Volumes of the environment above. Files follow their Secret and are read again; 288 is 0440 in a form that all YAML versions read alike. */}}
{{- define "gatewright.databaseVolumes" -}}
{{- $v := .Values -}}
- name: master-key
  secret: {secretName: {{ $v.masterKey.existingSecret | quote }}, defaultMode: 288, items: [{key: {{ $v.masterKey.key | quote }}, path: master-key}{{ with $v.masterKey.previousKey }}, {key: {{ . | quote }}, path: previous}{{ end }}]}
{{- if include "gatewright.hasDatabase" . }}
- name: database
  secret: {secretName: {{ $v.mysql.existingSecret | quote }}, defaultMode: 288, items: [{key: {{ $v.mysql.keys.password | quote }}, path: password}]}
{{- with $v.migrations.existingSecret }}
- name: migration-database
  secret: {secretName: {{ . | quote }}, defaultMode: 288, items: [{key: {{ $v.mysql.keys.password | quote }}, path: password}]}
{{- end }}
{{- if and $v.mysql.reader.host $v.mysql.reader.existingSecret }}
- name: database-reader
  secret: {secretName: {{ $v.mysql.reader.existingSecret | quote }}, defaultMode: 288, items: [{key: {{ $v.mysql.keys.password | quote }}, path: password}]}
{{- end }}
{{- if $v.mysql.tls.existingSecret }}
- name: database-tls
  secret:
    secretName: {{ $v.mysql.tls.existingSecret | quote }}
    defaultMode: 288
    items:
    {{- range $path, $key := $v.mysql.tls.keys }}
    {{- if $key }}
      - {key: {{ $key | quote }}, path: {{ $path }}}
    {{- end }}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Takes {root, volume}: the volume with the password. */}}
{{- define "gatewright.databaseMounts" -}}
- {name: master-key, mountPath: /etc/gatewright/master-key, readOnly: true}
{{- if include "gatewright.hasDatabase" .root }}
- {name: {{ .volume }}, mountPath: /etc/gatewright/database, readOnly: true}
{{- with .root.Values.mysql.reader }}
{{- if and .host .existingSecret }}
- {name: database-reader, mountPath: /etc/gatewright/database-reader, readOnly: true}
{{- end }}
{{- end }}
{{- if .root.Values.mysql.tls.existingSecret }}
- {name: database-tls, mountPath: /etc/gatewright/database-tls, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- /* Writable volumes and trusted certificate authorities of every container. */}}
{{- define "gatewright.commonMounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: home, mountPath: /var/lib/gatewright}
{{- if or .Values.customCA.existingSecret .Values.customCA.existingConfigMap }}
- {name: ca, mountPath: /etc/gatewright/ca, readOnly: true}
{{- end }}
{{- end }}

{{- define "gatewright.commonVolumes" -}}
- {name: tmp, emptyDir: {sizeLimit: 256Mi}}
- {name: home, emptyDir: {sizeLimit: 2Gi}}
{{- if .Values.customCA.existingSecret }}
- name: ca
  secret: {secretName: {{ .Values.customCA.existingSecret | quote }}, items: [{key: {{ .Values.customCA.key | quote }}, path: ca.crt}]}
{{- else if .Values.customCA.existingConfigMap }}
- name: ca
  configMap: {name: {{ .Values.customCA.existingConfigMap | quote }}, items: [{key: {{ .Values.customCA.key | quote }}, path: ca.crt}]}
{{- end }}
{{- end }}

{{- /* Takes {root, name, args, resources, migrates, mounts}: an init container that runs one database command. */}}
{{- define "gatewright.databaseContainer" -}}
{{- $own := and .migrates .root.Values.migrations.existingSecret -}}
{{- $secret := $own | default .root.Values.mysql.existingSecret -}}
- name: {{ .name }}
  image: {{ include "gatewright.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  # The reason of a failure is the container's status message: `kubectl describe pod` shows it.
  terminationMessagePolicy: FallbackToLogsOnError
  args: {{ toJson .args }}
  securityContext: {{- include "gatewright.containerSecurity" .root | nindent 4 }}
  env:
    {{- include "gatewright.environment" .root | nindent 4 }}
    {{- include "gatewright.databaseEnvironment" (dict "root" .root "secret" $secret) | nindent 4 }}
  resources: {{ toJson .resources }}
  volumeMounts:
    {{- include "gatewright.commonMounts" .root | nindent 4 }}
    {{- include "gatewright.databaseMounts" (dict "root" .root "volume" (ternary "migration-database" "database" (not (empty $own)))) | nindent 4 }}
    {{- with .mounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* Runs migrations, or waits until they have been run. */}}
{{- define "gatewright.migrationContainer" -}}
{{- $check := ne .Values.migrations.strategy "initContainer" -}}
{{- include "gatewright.databaseContainer" (dict "root" . "name" "migrate" "args" (concat (list "migrate" "--wait" (printf "%ds" (int .Values.migrations.deadlineSeconds))) (ternary (list "--check") list $check)) "resources" .Values.server.resources "migrates" (not $check)) -}}
{{- end }}
