/** Generates random valid values for the chart, without contradictions. */
import fc from 'fast-check';

const flag = fc.boolean();
const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,20}[a-z0-9])?$/);
const key = fc.stringMatching(/^[A-Za-z][A-Za-z0-9._-]{0,20}$/);
const labels = fc.dictionary(fc.stringMatching(/^[a-z]{1,10}$/), name, { maxKeys: 3 });
const annotations = fc.dictionary(name, fc.string({ maxLength: 30, unit: 'binary' }), {
  maxKeys: 2,
});
/** A subset of the fields of a record. */
const some = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) =>
  fc.record(fields, { requiredKeys: [] });

const resources = fc.constantFrom(
  { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '1Gi' } },
  { requests: { cpu: 0.5 } },
  {},
);

const podFields = some({
  annotations,
  labels,
  nodeSelector: labels,
  tolerations: fc.constant([{ key: 'ai', operator: 'Exists', effect: 'NoSchedule' }]),
  affinity: fc.constant({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }],
      },
    },
  }),
  topologySpreadConstraints: fc.constant([
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' },
  ]),
  priorityClassName: fc.constantFrom('', 'high'),
  env: fc.constant([{ name: 'GW_VAR_A', value: 'b' }]),
  envFrom: fc.constant([{ secretRef: { name: 'more' } }]),
});
/** Volume names are unique across both pods, because they may be one pod. */
const podWith = (volume: string): fc.Arbitrary<object> => {
  const volumes = {
    volumes: [{ name: volume, emptyDir: {} }],
    volumeMounts: [{ name: volume, mountPath: `/${volume}` }],
  };
  return fc
    .tuple(podFields, fc.constantFrom({}, volumes))
    .map(([fields, more]) => ({ ...fields, ...more }));
};

const image = some({
  registry: fc.constantFrom('', 'registry.example.com:5000'),
  repository: fc.constantFrom('gatewright/gatewright', 'a/b/c'),
  tag: fc.constantFrom('', '0.1.0', 'v1_2-rc.3'),
  digest: fc.constantFrom('', `sha256:${'0a'.repeat(32)}`),
  pullPolicy: fc.constantFrom('IfNotPresent', 'Always', 'Never'),
});

const tls = fc.constantFrom(
  {},
  { mode: 'REQUIRED' },
  { mode: 'VERIFY_CA', existingSecret: 'tls' },
  { mode: 'VERIFY_IDENTITY', existingSecret: 'tls', keys: { ca: '', cert: 'c', key: 'k' } },
);

const mysql = fc.oneof(
  fc.record({ existingSecret: name, embedded: fc.record({ enabled: fc.constant(true) }) }),
  fc.record({
    existingSecret: name,
    host: fc.constant('mysql.example.com'),
    tls,
    port: fc.integer({ min: 1, max: 65_535 }),
    poolSize: fc.integer({ min: 1, max: 50 }),
    keys: fc.record({ username: key, password: key }),
    reader: fc.constantFrom(
      {},
      { host: 'replica' },
      { host: 'replica', port: 3307, existingSecret: 'replica' },
    ),
  }),
);

const source = fc.constantFrom(
  { source: 'https://git.example.com/a.git#main:prod' },
  { source: 'git@git.example.com:a/b.git' },
  { configMap: 'manifests' },
  { sourceVolume: { source: { persistentVolumeClaim: { claimName: 'manifests' } } } },
);

const vault = fc.constantFrom(
  {},
  { address: 'https://vault:8200', paths: ['secret/a', 'kv'], kubernetesRole: 'gatewright' },
  {
    address: 'https://vault',
    paths: ['kv'],
    kubernetesRole: 'a',
    audience: 'vault',
    authMount: 'k',
  },
  {
    address: 'http://vault:8200',
    paths: ['kv'],
    roleId: 'id',
    namespace: 'team',
    existingSecret: 'vault',
    keys: { secretId: 's', ca: 'ca' },
  },
  { address: 'https://vault', paths: ['kv'], existingSecret: 'vault', keys: { token: 't' } },
);

const git = fc.constantFrom(
  {},
  { existingSecret: 'git', keys: { token: 't', username: 'u' } },
  {
    existingSecret: 'git',
    keys: { sshKey: 'k', knownHosts: 'h' },
    verify: 'commit',
    signers: { existingConfigMap: 'signers', keys: { gpgKeys: 'gpg' } },
  },
  {
    verify: 'tag',
    signers: { existingSecret: 'signers', keys: { allowedSigners: 'a', revokedSigners: 'r' } },
  },
);

const sync = fc
  .tuple(
    source,
    some({
      git,
      vault,
      pod: podWith('more'),
      resources,
      prune: flag,
      owner: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,30}$/),
      replicas: fc.nat(3),
      intervalSeconds: fc.integer({ min: 0, max: 86_400 }),
      drift: fc.constantFrom('heal', 'report', 'off'),
      credentials: fc.constantFrom({}, { existingSecret: 'account' }),
      tsgId: fc.constantFrom('', '1234567890'),
      webhook: fc.constantFrom({}, { existingSecret: 'webhook' }),
      kubernetes: some({
        enabled: flag,
        createRoles: flag,
        status: flag,
        lease: flag,
        namespaces: fc.constantFrom([], ['gateways'], ['gateways', 'apps'], ['apps']),
      }),
      secretSettings: fc.constantFrom(
        {},
        { GATEWRIGHT_NOTIFY_URL: { secret: 'chat', key: 'url' } },
      ),
      serviceAccount: fc.constantFrom({}, { existing: 'mine' }, { annotations: { a: 'b' } }),
      secretsVolume: fc.constantFrom({}, { source: { emptyDir: {} } }),
    }),
  )
  .chain(([one, more]) => flag.map((enabled) => ({ ...more, ...one, enabled })));

/** Values that the server and the gateways share. */
const serving = (volume: string) => ({
  pod: podWith(volume),
  resources,
  replicas: fc.nat(9),
  lameDuckSeconds: fc.nat(3600),
  drainSeconds: fc.nat(3600),
  service: some({
    annotations,
    port: fc.integer({ min: 1, max: 65_535 }),
    type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
  }),
  autoscaling: fc
    .tuple(flag, fc.integer({ min: 1, max: 5 }), fc.nat(5), fc.integer({ min: 1, max: 100 }))
    .map(([enabled, minReplicas, more, cpuPercent]) => ({
      enabled,
      minReplicas,
      maxReplicas: minReplicas + more,
      cpuPercent,
    })),
});

const server = some({
  ...serving('other'),
  url: fc.constantFrom('', 'https://gateway.example.com', 'http://10.0.0.1:8080'),
});

const gateway = some({ ...serving('third'), enabled: flag });
const mcp = some({ ...serving('fifth'), enabled: flag });

/** All values that a user may set. */
export const randomValues: fc.Arbitrary<object> = fc
  .record(
    {
      masterKey: fc.record(
        { existingSecret: name, key, previousKey: key.map((one) => `${one}.previous`) },
        { requiredKeys: ['existingSecret', 'key'] },
      ),
      mysql,
      fullnameOverride: fc.oneof(
        fc.constant(''),
        fc.stringMatching(/^[a-z][a-z0-9-]{0,51}[a-z0-9]$/),
      ),
      global: some({
        imageRegistry: fc.constantFrom('', 'registry.example.com:5000'),
        imagePullSecrets: fc.constantFrom([], [{ name: 'pull' }]),
      }),
      image,
      server,
      console: some({ enabled: flag }),
      gateway,
      mcp,
      sync,
      openshift: flag,
      mode: fc.constantFrom('components', 'all-in-one'),
      migrations: some({
        strategy: fc.constantFrom('initContainer', 'hook', 'external'),
        existingSecret: fc.constantFrom('', 'ddl'),
        deadlineSeconds: fc.integer({ min: 1, max: 100_000 }),
        hookAnnotations: fc.constantFrom({}, { 'argocd.argoproj.io/hook': 'PreSync' }),
      }),
      settings: some({
        API_KEY_PREFIX: fc.stringMatching(/^[A-Za-z0-9]{1,32}$/),
        AUDIT_LOGS_ENABLED: flag,
        GATEWRIGHT_CONNECTIONS_MAX: fc.integer({ min: 1, max: 1_000_000 }),
      }),
      customCA: fc.constantFrom(
        {},
        { existingSecret: 'ca' },
        { existingConfigMap: 'ca', key: 'pem' },
      ),
      proxy: some({
        https: fc.constantFrom('', 'http://proxy:3128'),
        noProxy: fc.constantFrom([], ['.svc', '10.0.0.0/8']),
      }),
      serviceAccount: fc.constantFrom({}, { existing: 'mine' }, { annotations: { a: 'b' } }),
      ingress: fc.constantFrom(
        {},
        { enabled: true, host: 'gateway.example.com' },
        { enabled: true, host: 'a.example.com', tlsSecret: 'tls', className: 'nginx' },
        {
          enabled: true,
          host: 'a.example.com',
          annotations: { a: 'b' },
          inference: { host: 'b.example.com', tlsSecret: 'tls', annotations: { a: 'c' } },
        },
        {
          enabled: true,
          host: 'a.example.com',
          tlsSecret: 'tls',
          mcp: { host: 'c.example.com', annotations: { a: 'c' } },
        },
      ),
      networkPolicy: some({
        enabled: flag,
        apiFrom: fc.constantFrom([], [{ podSelector: {} }]),
        inferenceFrom: fc.constantFrom([], [{ podSelector: {} }]),
        providerPorts: fc.constantFrom([], [443], [80, 443, 65_535]),
        mcpFrom: fc.constantFrom([], [{ podSelector: {} }]),
        mcpServerPorts: fc.constantFrom([], [443], [80, 443, 65_535]),
        metricsFrom: fc.constantFrom([], [{ namespaceSelector: {} }]),
        extraEgress: fc.constantFrom([], [{ ports: [{ port: 443 }] }]),
      }),
      httpRoute: fc.constantFrom(
        {},
        { enabled: true, parentRefs: [{ name: 'public' }] },
        {
          enabled: true,
          parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
          hostnames: ['gateway.example.com', '*.example.com'],
          inference: { hostnames: ['models.example.com'] },
        },
        {
          enabled: true,
          parentRefs: [{ name: 'public' }],
          mcp: { hostnames: ['mcp.example.com'] },
        },
      ),
      monitoring: some({
        serviceMonitor: some({ enabled: flag, labels, interval: fc.constantFrom('15s', '1m') }),
        prometheusRule: some({ enabled: flag, labels }),
        dashboard: some({ enabled: flag, labels }),
      }),
      extraObjects: fc.constantFrom(
        [],
        [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'more' } }],
      ),
    },
    { requiredKeys: ['masterKey', 'mysql'] },
  )
  .map(({ mysql: database, migrations, mode, ...rest }) => ({
    ...rest,
    mysql: database,
    // Routes to inference and to MCP need their gateways.
    ...('inference' in { ...rest.ingress, ...rest.httpRoute }
      ? { gateway: { ...rest.gateway, enabled: true } }
      : {}),
    ...('mcp' in { ...rest.ingress, ...rest.httpRoute }
      ? { mcp: { ...rest.mcp, enabled: true } }
      : {}),
    // A shared pod has one service account.
    ...('serviceAccount' in (rest.sync ?? {}) ? {} : { mode: mode ?? 'components' }),
    // A hook would run before the embedded database exists.
    migrations: 'embedded' in database ? {} : (migrations ?? {}),
  }));
