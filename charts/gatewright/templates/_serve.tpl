{{- /* Templates shared by the pods of the server and the gateways. */}}
{{- /* Takes {root, component: server, gateway or mcp, words, serves: a list of http, inference and mcp, holdsSync, lameDuckSeconds, drainSeconds}. */}}
{{- define "gatewright.serveDeployment" -}}
{{- $root := .root -}}
{{- $v := $root.Values -}}
{{- $block := get $v .component -}}
{{- $name := printf "%s-%s" (include "gatewright.name" $root) .component -}}
{{- $listens := and $v.link.enabled (eq .component (include "gatewright.workingComponent" $root)) -}}
{{- $isLinked := or $listens (not (empty $v.link.url)) -}}
{{- $ports := ternary (append .serves "link") .serves $listens -}}
{{- /* Includes 10 s for responses whose callers disconnected, which are read on to charge their usage. */}}
{{- $endSeconds := ternary 20 10 (has "inference" .serves) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "gatewright.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if not $block.autoscaling.enabled }}
  replicas: {{ $block.replicas }}
  {{- else }}
  {{- /* The autoscaler decides. A running release keeps its number: without the field Kubernetes would set it to 1. */}}
  {{- with lookup "apps/v1" "Deployment" $root.Release.Namespace $name }}
  replicas: {{ .spec.replicas }}
  {{- end }}
  {{- end }}
  # A pod is removed only when another one is ready; the deadline covers a migration and a start.
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  minReadySeconds: 2
  progressDeadlineSeconds: {{ add (int $v.migrations.deadlineSeconds) 300 }}
  selector:
    matchLabels:
      {{- include "gatewright.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  template:
    metadata:
      labels:
        {{- with $block.pod.labels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "gatewright.selector" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
      {{- with $block.pod.annotations }}
      annotations: {{ toJson . }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "gatewright.serviceAccount" $root }}
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: {{ max (add .lameDuckSeconds .drainSeconds $endSeconds) (ternary 60 0 .holdsSync) }}
      {{- include "gatewright.podSpec" (dict "root" $root "pod" $block.pod "component" .component) | nindent 6 }}
      {{- if include "gatewright.hasDatabase" $root }}
      initContainers:
        {{- include "gatewright.migrationContainer" $root | nindent 8 }}
        {{- if and .holdsSync (not $v.sync.credentials.existingSecret) }}
        {{- include "gatewright.credentialsContainer" $root | nindent 8 }}
        {{- end }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "gatewright.image" $root }}
          imagePullPolicy: {{ $v.image.pullPolicy }}
          terminationMessagePolicy: FallbackToLogsOnError
          args: {{ toJson .words }}
          securityContext: {{- include "gatewright.containerSecurity" $root | nindent 12 }}
          env:
            {{- include "gatewright.environment" $root | nindent 12 }}
            {{- include "gatewright.databaseEnvironment" (dict "root" $root "secret" $v.mysql.existingSecret) | nindent 12 }}
            - {name: PORT, value: "8080"}
            - {name: GATEWRIGHT_METRICS_PORT, value: "9464"}
            {{- if has "inference" .serves }}
            - {name: GATEWRIGHT_INFERENCE_PORT, value: "8787"}
            {{- end }}
            {{- if has "mcp" .serves }}
            - {name: GATEWRIGHT_MCP_PORT, value: "8788"}
            {{- end }}
            - {name: GATEWRIGHT_LAME_DUCK_SECONDS, value: {{ .lameDuckSeconds | quote }}}
            - {name: GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS, value: {{ .drainSeconds | quote }}}
            {{- if $isLinked }}
            {{- include "gatewright.linkEnvironment" (dict "root" $root "listens" $listens) | trim | nindent 12 }}
            {{- end }}
            {{- include "gatewright.blobEnvironment" $root | nindent 12 }}
            {{- include "gatewright.outageEnvironment" $root | nindent 12 }}
            {{- with $block.pod.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $block.pod.envFrom }}
          envFrom: {{ toJson . }}
          {{- end }}
          ports:
            {{- $numbers := dict "http" 8080 "inference" 8787 "mcp" 8788 "link" 8443 }}
            {{- range $ports }}
            - {name: {{ . }}, containerPort: {{ get $numbers . }}}
            {{- end }}
            - {name: metrics, containerPort: 9464}
          # The metrics port serves probes even when the connection limit is reached.
          startupProbe: {httpGet: {path: /startupz, port: metrics}, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 300}
          livenessProbe: {httpGet: {path: /livez, port: metrics}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
          readinessProbe: {httpGet: {path: /readyz, port: metrics}, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 2}
          resources: {{ toJson $block.resources }}
          volumeMounts:
            {{- include "gatewright.commonMounts" $root | nindent 12 }}
            {{- include "gatewright.databaseMounts" (dict "root" $root "volume" "database") | nindent 12 }}
            {{- if $isLinked }}
            - {name: link, mountPath: /etc/gatewright/link, readOnly: true}
            {{- end }}
            {{- if $v.blobs.volume }}
            - {name: blobs, mountPath: /var/lib/gatewright/blobs}
            {{- end }}
            {{- if or $v.outages.snapshot $v.outages.spool }}
            - {name: outages, mountPath: /var/lib/gatewright/outages}
            {{- end }}
            {{- with $block.pod.volumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- if .holdsSync }}
        {{- include "gatewright.syncContainer" $root | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "gatewright.commonVolumes" $root | nindent 8 }}
        {{- include "gatewright.databaseVolumes" $root | nindent 8 }}
        {{- if .holdsSync }}
        {{- include "gatewright.syncVolumes" $root | nindent 8 }}
        {{- with $v.sync.pod.volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- end }}
        {{- if $isLinked }}
        {{- include "gatewright.linkVolume" $root | nindent 8 }}
        {{- end }}
        {{- with $v.blobs.volume }}
        - {{ merge (dict "name" "blobs") . | toJson }}
        {{- end }}
        {{- if or $v.outages.snapshot $v.outages.spool }}
        - {{ merge (dict "name" "outages") ($v.outages.volume | default (dict "emptyDir" (dict "sizeLimit" $v.outages.sizeLimit))) | toJson }}
        {{- end }}
        {{- with $block.pod.volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- if $block.autoscaling.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels: {{- include "gatewright.labels" $root | nindent 4 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ $name }}}
  minReplicas: {{ $block.autoscaling.minReplicas }}
  maxReplicas: {{ $block.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: {{ $block.autoscaling.cpuPercent }}}}
{{- end }}
{{- $least := ternary $block.autoscaling.minReplicas $block.replicas $block.autoscaling.enabled }}
{{- if gt (int $least) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "gatewright.labels" $root | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "gatewright.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
{{- end }}
{{- end }}

{{- /* Takes {root, component: the values to use, pods: the component to select, port: the name of its port}. */}}
{{- define "gatewright.serveService" -}}
{{- $service := (get .root.Values .component).service -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "gatewright.name" .root }}-{{ .component }}
  labels:
    {{- include "gatewright.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with $service.annotations }}
  annotations: {{ toJson . }}
  {{- end }}
spec:
  type: {{ $service.type }}
  selector:
    {{- include "gatewright.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .pods }}
  ports:
    - {name: http, port: {{ $service.port }}, targetPort: {{ .port }}}
{{- end }}
