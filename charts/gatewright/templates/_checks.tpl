{{- /* Rejects contradicting values with the fix. */}}
{{- define "gatewright.checks" -}}
{{- $v := .Values -}}
{{- if not $v.masterKey.existingSecret -}}
{{- fail (printf "masterKey.existingSecret is required. Create it once and keep a copy elsewhere:\n  kubectl create secret generic gatewright-master-key --namespace %s --from-literal=%s=\"$(openssl rand -base64 32)\"\nand set masterKey.existingSecret=gatewright-master-key" .Release.Namespace $v.masterKey.key) -}}
{{- end -}}
{{- if eq $v.masterKey.previousKey $v.masterKey.key -}}
{{- fail "masterKey.previousKey is the same as masterKey.key: name the previous key, or leave it empty" -}}
{{- end -}}
{{- include "gatewright.linkChecks" . -}}
{{- if and $v.mysql.embedded.enabled $v.mysql.host -}}
{{- fail "mysql.embedded.enabled runs its own database; leave mysql.host empty, or turn it off" -}}
{{- end -}}
{{- if and (include "gatewright.hasDatabase" .) (not $v.mysql.embedded.enabled) (not $v.mysql.host) -}}
{{- fail (printf "mysql.host is required: the name of your MySQL or MariaDB server%s. For a trial without one: --set mysql.embedded.enabled=true" (ternary ", which only this region uses" "" (not (empty $v.link.region)))) -}}
{{- end -}}
{{- if and (include "gatewright.hasDatabase" .) (not $v.mysql.existingSecret) -}}
{{- fail (printf "mysql.existingSecret is required: the user and the password of the database.\n  kubectl create secret generic gatewright-mysql --namespace %s --from-literal=%s=gatewright --from-literal=%s=\"$(openssl rand -hex 24)\"\nand set mysql.existingSecret=gatewright-mysql" .Release.Namespace $v.mysql.keys.username $v.mysql.keys.password) -}}
{{- end -}}
{{- if and (eq $v.mysql.tls.mode "VERIFY_IDENTITY") (regexMatch "^[0-9.]+$|:" $v.mysql.host) -}}
{{- fail "mysql.tls.mode VERIFY_IDENTITY needs a host name in mysql.host; for an address use VERIFY_CA" -}}
{{- end -}}
{{- if ne (empty $v.mysql.tls.keys.cert) (empty $v.mysql.tls.keys.key) -}}
{{- fail "mysql.tls.keys.cert and mysql.tls.keys.key go together" -}}
{{- end -}}
{{- if and (or $v.mysql.tls.keys.cert $v.mysql.tls.keys.key) (not $v.mysql.tls.existingSecret) -}}
{{- fail "mysql.tls.keys.cert needs mysql.tls.existingSecret, the Secret that contains it" -}}
{{- end -}}
{{- if and $v.mysql.reader.host $v.mysql.embedded.enabled -}}
{{- fail "the embedded database has no replica; leave mysql.reader.host empty" -}}
{{- end -}}
{{- if and $v.mysql.reader.existingSecret (not $v.mysql.reader.host) -}}
{{- fail "mysql.reader.existingSecret needs mysql.reader.host" -}}
{{- end -}}
{{- if and (eq $v.migrations.strategy "hook") $v.mysql.embedded.enabled -}}
{{- fail "migrations.strategy hook runs before the embedded database exists; use initContainer" -}}
{{- end -}}
{{- if and $v.customCA.existingSecret $v.customCA.existingConfigMap -}}
{{- fail "customCA takes one of existingSecret and existingConfigMap" -}}
{{- end -}}
{{- if and $v.blobs.s3.bucket (eq (not $v.blobs.s3.existingSecret) (not $v.blobs.s3.ownIdentity)) -}}
{{- fail "blobs.s3.bucket needs one of blobs.s3.existingSecret, the Secret that contains the key of the bucket, and blobs.s3.ownIdentity, for a role of the service account" -}}
{{- end -}}
{{- if and $v.blobs.s3.bucket $v.blobs.volume (not (hasKey $v.settings "GATEWRIGHT_BLOB_STORE")) -}}
{{- fail "blobs.volume and blobs.s3.bucket are both set: set settings.GATEWRIGHT_BLOB_STORE to select where new files go" -}}
{{- end -}}
{{- if and $v.outages.snapshotInBucket (not $v.blobs.s3.bucket) -}}
{{- fail "outages.snapshotInBucket needs blobs.s3.bucket, the bucket in which the snapshot is saved" -}}
{{- end -}}
{{- if and $v.outages.snapshotInBucket (not $v.outages.snapshot) -}}
{{- fail "outages.snapshotInBucket needs outages.snapshot" -}}
{{- end -}}
{{- range $path, $volume := dict "blobs.volume" $v.blobs.volume "outages.volume" $v.outages.volume "sync.sourceVolume.source" $v.sync.sourceVolume.source "sync.secretsVolume.source" $v.sync.secretsVolume.source -}}
{{- if gt (len $volume) 1 -}}
{{- fail (printf "%s takes one kind of volume, but has %s; keep one" $path (keys $volume | sortAlpha | join " and ")) -}}
{{- end -}}
{{- end -}}
{{- range $component, $scaling := dict "server" $v.server.autoscaling "gateway" $v.gateway.autoscaling "mcp" $v.mcp.autoscaling -}}
{{- if and $scaling.enabled (lt (int $scaling.maxReplicas) (int $scaling.minReplicas)) -}}
{{- fail (printf "%s.autoscaling.maxReplicas is less than minReplicas" $component) -}}
{{- end -}}
{{- end -}}
{{- $budget := int (include "gatewright.connections" .) -}}
{{- if and (gt (int $v.mysql.maxConnections) 0) (gt $budget (int $v.mysql.maxConnections)) -}}
{{- fail (printf "%d connections are possible (pods of server and gateways and one more of each during an upgrade, times mysql.poolSize), but the server takes %d (mysql.maxConnections); lower mysql.poolSize or the pods" $budget (int $v.mysql.maxConnections)) -}}
{{- end -}}
{{- if $v.sync.enabled -}}
{{- if ne (len (compact (list $v.sync.source $v.sync.configMap $v.sync.sourceVolume.source))) 1 -}}
{{- fail "sync.enabled needs one of sync.source (https://git.example.com/gateway.git#main:prod), sync.configMap and sync.sourceVolume.source" -}}
{{- end -}}
{{- if regexMatch "^[a-z]+://[^/@]*:[^/@]*@|^https?://[^/@]+@" $v.sync.source -}}
{{- fail "sync.source contains credentials, which everybody who may read the release would see; put them into a Secret and name it in sync.git.existingSecret" -}}
{{- end -}}
{{- if and (include "gatewright.syncIsInServer" .) (or $v.sync.serviceAccount.existing $v.sync.serviceAccount.annotations) -}}
{{- fail "mode all-in-one uses one service account: set serviceAccount instead of sync.serviceAccount" -}}
{{- end -}}
{{- range $variable, $proxy := dict "HTTP_PROXY" $v.proxy.http "HTTPS_PROXY" $v.proxy.https -}}
{{- if and $proxy (hasKey $v.sync.secretSettings $variable) -}}
{{- fail (printf "%s is in sync.secretSettings and in proxy; keep one" $variable) -}}
{{- end -}}
{{- end -}}
{{- include "gatewright.vaultChecks" $v.sync.vault -}}
{{- with $v.sync.git -}}
{{- if and (or .keys.token .keys.username .keys.sshKey .keys.knownHosts) (not .existingSecret) -}}
{{- fail "sync.git.keys needs sync.git.existingSecret, the Secret that contains them" -}}
{{- end -}}
{{- end -}}
{{- with $v.sync.git.signers -}}
{{- if and .existingSecret .existingConfigMap -}}
{{- fail "sync.git.signers takes one of existingSecret and existingConfigMap" -}}
{{- end -}}
{{- if and $v.sync.git.verify (not .existingSecret) (not .existingConfigMap) -}}
{{- fail "sync.git.verify needs the accepted keys: sync.git.signers" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.link.url) (not $v.ingress.host) -}}
{{- fail "ingress.enabled needs ingress.host" -}}
{{- end -}}
{{- include "gatewright.hostChecks" (dict "root" . "name" "inference" "component" "gateway" "clash" "the paths of both begin with /v1") -}}
{{- include "gatewright.hostChecks" (dict "root" . "name" "mcp" "component" "mcp" "clash" "a server of MCP may have any name") -}}
{{- with $v.ingress.mcp.host -}}
{{- if eq . $v.ingress.inference.host -}}
{{- fail "ingress.mcp.host must differ from ingress.inference.host: a server of MCP may have any name" -}}
{{- end -}}
{{- end -}}
{{- if and $v.mcp.enabled (has (toString (get $v.settings "MCP_ENABLED") | lower) (list "off" "false" "no" "0")) -}}
{{- fail "mcp.enabled runs the MCP gateway, which settings.MCP_ENABLED turns off; set mcp.enabled: false" -}}
{{- end -}}
{{- if and $v.httpRoute.enabled (empty $v.httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs, its parent Gateways" -}}
{{- end -}}
{{- end }}

{{- /* Rejects what a release without a control plane cannot do, and a link without certificates. */}}
{{- define "gatewright.linkChecks" -}}
{{- $v := .Values -}}
{{- if and $v.link.region (not $v.link.url) -}}
{{- fail "link.region needs link.url, the address of its home, such as https://link.gateway.internal.example:8443" -}}
{{- end -}}
{{- if and $v.link.enabled $v.link.url (not $v.link.region) -}}
{{- fail "link.enabled is for a control plane or a region, link.url without link.region for gateways without a database; keep one, or set link.region" -}}
{{- end -}}
{{- with $v.link.certificates -}}
{{- if and (include "gatewright.isLinked" $) (eq (empty .existingSecret) (empty .certManager.issuer.name)) -}}
{{- fail "the link needs one of link.certificates.existingSecret, the Secret that contains ca.crt, tls.crt and tls.key, and link.certificates.certManager.issuer.name" -}}
{{- end -}}
{{- end -}}
{{- if $v.link.url -}}
{{- range $path, $isSet := dict "sync.enabled" $v.sync.enabled "ingress.host" $v.ingress.host "httpRoute.hostnames" $v.httpRoute.hostnames "mysql.reader.host" $v.mysql.reader.host -}}
{{- if $isSet -}}
{{- fail (printf "%s does not go with link.url: a release without a control plane runs gateways only" $path) -}}
{{- end -}}
{{- end -}}
{{- range $path, $isSet := dict "mysql.host" $v.mysql.host "mysql.embedded.enabled" $v.mysql.embedded.enabled -}}
{{- if and $isSet (not $v.link.region) -}}
{{- fail (printf "%s does not go with link.url: gateways without a database have none. For a region with its own, set link.region" $path) -}}
{{- end -}}
{{- end -}}
{{- if not (or $v.gateway.enabled $v.mcp.enabled) -}}
{{- fail "link.url runs gateways only, but gateway.enabled and mcp.enabled are both off" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Takes {root, name: the block of hosts in ingress and httpRoute, component, clash: why it shares no host}. */}}
{{- define "gatewright.hostChecks" -}}
{{- $v := .root.Values -}}
{{- $host := (get $v.ingress .name).host -}}
{{- $hostnames := (get $v.httpRoute .name).hostnames -}}
{{- if and (not (get $v .component).enabled) (or $host $hostnames) -}}
{{- fail (printf "ingress.%s and httpRoute.%s lead to the %s, which %s.enabled turns off" .name .name (ternary "MCP gateway" "gateway" (eq .component "mcp")) .component) -}}
{{- end -}}
{{- if and $v.ingress.enabled $host (eq $v.ingress.host $host) -}}
{{- fail (printf "ingress.%s.host must differ from ingress.host: %s" .name .clash) -}}
{{- end -}}
{{- if and $host (not $v.ingress.enabled) -}}
{{- fail (printf "ingress.%s.host needs ingress.enabled" .name) -}}
{{- end -}}
{{- range $hostname := $hostnames -}}
{{- if not $v.httpRoute.enabled -}}
{{- fail (printf "httpRoute.%s.hostnames needs httpRoute.enabled" $.name) -}}
{{- end -}}
{{- if has $hostname $v.httpRoute.hostnames -}}
{{- fail (printf "%s is in httpRoute.hostnames and in httpRoute.%s.hostnames: %s; keep one" $hostname $.name $.clash) -}}
{{- end -}}
{{- if and (eq $.name "mcp") (has $hostname $v.httpRoute.inference.hostnames) -}}
{{- fail (printf "%s is in httpRoute.inference.hostnames and in httpRoute.mcp.hostnames: %s; keep one" $hostname $.clash) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Takes the `vault` block of sync. */}}
{{- define "gatewright.vaultChecks" -}}
{{- if and (not .address) (or .paths .kubernetesRole .roleId .existingSecret) -}}
{{- fail "sync.vault needs sync.vault.address, such as https://vault.example.com:8200" -}}
{{- end -}}
{{- if .address -}}
{{- if not .paths -}}
{{- fail "sync.vault.address needs sync.vault.paths, the paths that manifests may name: [secret/support]" -}}
{{- end -}}
{{- if ne (len (compact (list .keys.token .kubernetesRole .roleId))) 1 -}}
{{- fail "sync.vault needs one login method: sync.vault.kubernetesRole, sync.vault.roleId, or sync.vault.keys.token" -}}
{{- end -}}
{{- if ne (empty .roleId) (empty .keys.secretId) -}}
{{- fail "sync.vault.roleId and sync.vault.keys.secretId go together" -}}
{{- end -}}
{{- if and (or .keys.token .keys.secretId .keys.ca) (not .existingSecret) -}}
{{- fail "sync.vault.keys needs sync.vault.existingSecret, the Secret that contains them" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* The maximum number of database connections: each pod has a pool, and an upgrade adds a pod of each component. */}}
{{- define "gatewright.connections" -}}
{{- $pods := 0 -}}
{{- range include "gatewright.servingComponents" . | fromJsonArray -}}
{{- $block := get $.Values . -}}
{{- $pods = add1 (add $pods (int (ternary $block.autoscaling.maxReplicas $block.replicas $block.autoscaling.enabled))) -}}
{{- end -}}
{{- mul $pods (int .Values.mysql.poolSize) -}}
{{- end }}
