/** Values for typical uses of the chart. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { chartFolder, complete } from './helm.ts';

/** Every option that can be enabled at once. */
export const everything = {
  ...complete,
  mysql: {
    ...complete.mysql,
    reader: { host: 'replica.example.com', existingSecret: 'replica' },
    tls: { mode: 'VERIFY_CA', existingSecret: 'tls', keys: { cert: 'tls.crt', key: 'tls.key' } },
    maxConnections: 500,
  },
  migrations: { existingSecret: 'ddl' },
  customCA: { existingSecret: 'ca' },
  proxy: { https: 'http://proxy.example.com:3128', noProxy: ['.svc', '10.0.0.0/8'] },
  settings: { API_KEY_PREFIX: 'acme', AUDIT_LOGS_ENABLED: true, GATEWRIGHT_CONNECTIONS_MAX: 500 },
  server: {
    autoscaling: { enabled: true },
    url: 'https://gateway.example.com',
    pod: { labels: { team: 'ai' }, annotations: { a: 'b' }, priorityClassName: 'high' },
  },
  gateway: {
    autoscaling: { enabled: true },
    service: { type: 'LoadBalancer', port: 443, annotations: { a: 'b' } },
    pod: { labels: { team: 'ml' }, priorityClassName: 'high' },
  },
  mcp: {
    autoscaling: { enabled: true },
    service: { type: 'LoadBalancer', port: 8443, annotations: { a: 'b' } },
    pod: { labels: { team: 'tools' }, priorityClassName: 'high' },
  },
  sync: {
    enabled: true,
    source: 'https://git.example.com/gateway.git#main:prod',
    replicas: 2,
    intervalSeconds: 30,
    prune: false,
    git: {
      existingSecret: 'git',
      keys: { token: 'token', username: 'user', sshKey: 'key', knownHosts: 'hosts' },
      verify: 'commit',
      signers: { existingConfigMap: 'signers', keys: { gpgKeys: 'gpg' } },
    },
    webhook: { existingSecret: 'webhook' },
    kubernetes: {
      enabled: true,
      namespaces: ['gateways', 'apps'],
      status: true,
      lease: true,
    },
    vault: {
      address: 'https://vault.example.com:8200',
      paths: ['secret/support', 'kv'],
      kubernetesRole: 'gatewright',
      audience: 'vault',
      existingSecret: 'vault',
      keys: { ca: 'ca.crt' },
    },
    secretSettings: { GATEWRIGHT_NOTIFY_URL: { secret: 'chat', key: 'url' } },
    secretsVolume: { source: { persistentVolumeClaim: { claimName: 'keys' } } },
  },
  ingress: {
    enabled: true,
    host: 'gateway.example.com',
    tlsSecret: 'tls',
    className: 'nginx',
    annotations: { a: 'b', c: 'd' },
    inference: { host: 'models.example.com', annotations: { a: 'e' } },
    mcp: { host: 'mcp.example.com', tlsSecret: 'mcp-tls', annotations: { a: 'f' } },
  },
  httpRoute: {
    enabled: true,
    parentRefs: [{ name: 'public' }],
    hostnames: ['a.example.com'],
    inference: { hostnames: ['models.example.com'] },
    mcp: { hostnames: ['mcp.example.com'] },
  },
  networkPolicy: {
    enabled: true,
    apiFrom: [{ podSelector: {} }],
    inferenceFrom: [{ podSelector: {} }],
    providerPorts: [443, 11_434],
    mcpFrom: [{ podSelector: {} }],
    mcpServerPorts: [443, 8000],
  },
  monitoring: {
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboard: { enabled: true },
  },
};
export const gitSync = { enabled: true, source: 'https://git.example.com/gateway.git' };
export const embedded = {
  masterKey: complete.masterKey,
  mysql: { existingSecret: 'gatewright', embedded: { enabled: true } },
  networkPolicy: { enabled: true },
};
export const allInOne = {
  ...complete,
  mode: 'all-in-one',
  networkPolicy: { enabled: true },
  monitoring: { serviceMonitor: { enabled: true } },
  sync: { ...gitSync, kubernetes: { enabled: true } },
};
export const hook = { ...complete, migrations: { strategy: 'hook' } };
const exampleValues = (path: string): object =>
  parse(readFileSync(join(chartFolder, '../../examples', path), 'utf8'));
/** The values of the README's first installation. */
export const privateCluster = exampleValues('3-private-cluster/values.yaml');
/** A control plane, and gateways without a database. */
const linkedControlPlane = exampleValues('4-linked-gateways/control-plane.yaml');
const linkedGateways = exampleValues('4-linked-gateways/gateways.yaml');
/** Home, and a region with a database of its own. */
export const regionHome = exampleValues('5-regions/home.yaml');
export const region = exampleValues('5-regions/region.yaml');
/** The control plane without gateways and sync. */
export const withoutGateway = {
  ...complete,
  gateway: { enabled: false },
  mcp: { enabled: false },
  networkPolicy: { enabled: true },
};
export const stories = {
  complete,
  withoutGateway,
  everything,
  allInOne,
  embedded,
  hook,
  privateCluster,
  linkedControlPlane,
  linkedGateways,
  regionHome,
  region,
};
