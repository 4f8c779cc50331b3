/** Generates random values with which the chart must run in a namespace that the test platform has prepared. */
import fc from 'fast-check';

const flag = fc.boolean();
const word = fc.stringMatching(/^[a-z]{1,10}$/);

/** Requires a ConfigMap `manifests` in the namespace. */
export const runnableValues = fc.record({
  mode: fc.constantFrom('components', 'all-in-one'),
  fullnameOverride: fc.stringMatching(/^[a-z][a-z0-9-]{0,51}[a-z0-9]$/),
  migrations: fc.record({
    strategy: fc.constantFrom('initContainer', 'hook'),
    existingSecret: fc.constant('gatewright-mysql-owner'),
    deadlineSeconds: fc.integer({ min: 600, max: 100_000 }),
  }),
  settings: fc.record({
    API_KEY_PREFIX: fc.stringMatching(/^[A-Za-z0-9]{1,32}$/),
    AUDIT_LOGS_ENABLED: flag,
    GATEWRIGHT_CONNECTIONS_MAX: fc.integer({ min: 50, max: 1_000_000 }),
  }),
  customCA: fc.constantFrom({}, { existingConfigMap: 'company-ca' }),
  proxy: fc.constantFrom({}, { https: 'http://proxy:3128', noProxy: ['.svc'] }),
  serviceAccount: fc.constantFrom({}, { annotations: { team: 'ai' } }),
  server: fc.record({
    replicas: fc.integer({ min: 1, max: 2 }),
    lameDuckSeconds: fc.nat(5),
    drainSeconds: fc.nat(5),
    // LoadBalancer is missing, because no controller assigns addresses and Helm would wait for one.
    service: fc.record({
      type: fc.constantFrom('ClusterIP', 'NodePort'),
      port: fc.integer({ min: 1, max: 65_535 }),
    }),
    resources: fc.constantFrom(
      {},
      { requests: { cpu: '20m' }, limits: { memory: '1Gi', 'ephemeral-storage': '1Gi' } },
    ),
    pod: fc.record({
      labels: fc.dictionary(word, word, { maxKeys: 3 }),
      annotations: fc.dictionary(word, fc.string({ maxLength: 30 }), { maxKeys: 3 }),
      env: fc.constantFrom([], [{ name: 'TZ', value: 'Asia/Kolkata' }]),
    }),
  }),
  gateway: fc.record({
    enabled: flag,
    replicas: fc.integer({ min: 1, max: 2 }),
    lameDuckSeconds: fc.nat(5),
    drainSeconds: fc.nat(5),
    service: fc.record({ port: fc.integer({ min: 1, max: 65_535 }) }),
  }),
  mcp: fc.record({
    enabled: flag,
    replicas: fc.integer({ min: 1, max: 2 }),
    lameDuckSeconds: fc.nat(5),
    drainSeconds: fc.nat(5),
    service: fc.record({ port: fc.integer({ min: 1, max: 65_535 }) }),
  }),
  sync: fc.record({
    enabled: fc.constant(true),
    configMap: fc.constant('manifests'),
    owner: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,30}$/),
    replicas: fc.integer({ min: 1, max: 2 }),
    intervalSeconds: fc.integer({ min: 1, max: 10 }),
    drift: fc.constantFrom('heal', 'report', 'off'),
    prune: flag,
    tsgId: fc.stringMatching(/^[1-9][0-9]{9}$/),
    kubernetes: fc.record({ enabled: fc.constant(true), status: flag, lease: flag }),
  }),
  ingress: fc.constantFrom({}, { enabled: true, host: 'gateway.example.com', tlsSecret: 'tls' }),
  networkPolicy: fc.record({ enabled: flag }),
  monitoring: fc.record({
    serviceMonitor: fc.record({ enabled: flag }),
    prometheusRule: fc.record({ enabled: flag }),
    dashboard: fc.record({ enabled: flag }),
  }),
});
