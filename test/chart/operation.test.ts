/** Tests what matters to whoever operates a release: addresses, alerts, spreading, messages and rejected mistakes. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  chartFolder,
  complete,
  helm,
  helmMajors,
  helmProgram,
  type KubernetesObject,
  render,
  renderText,
} from './helm.ts';
import { containersOf, podsOf } from './restricted.ts';
import { embedded, everything, gitSync, hook, privateCluster, stories } from './stories.ts';

const root = resolve(import.meta.dirname, '../..');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}

async function alertsOf(values: object): Promise<readonly Alert[]> {
  const rule = (await render(values)).find(({ kind }) => kind === 'PrometheusRule');
  return (rule!.spec as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules);
}

function specOf<T>(objects: readonly KubernetesObject[], kind: string, name: string): T {
  return objects.find((one) => one.kind === kind && one.metadata.name === name)?.spec as T;
}

beforeAll(() => {
  for (const major of helmMajors) helmProgram(major);
});

describe('sync of a release', () => {
  it.each(Object.entries({ everything, privateCluster }))(
    'uses the Service of the API with %s, not its public address',
    async (_, values) => {
      const pod = podsOf(await render(values)).find(({ name }) => name.endsWith('-sync'))!;
      const { args } = pod.spec.initContainers!.find(({ name }) => name === 'credentials')!;
      expect(args![args!.indexOf('--url') + 1]).toBe('http://gw-gatewright-server.gateways:80');
    },
  );

  it('receives pushes at /webhook of the API host, where the API is open', async () => {
    const objects = await render({
      ...everything,
      sync: { ...gitSync, webhook: { existingSecret: 'push' } },
    });
    const { rules } = specOf<{ rules: { http: { paths: object[] } }[] }>(
      objects,
      'Ingress',
      'gw-gatewright',
    );
    expect(rules[0]!.http.paths[0]).toEqual({
      path: '/webhook',
      pathType: 'Exact',
      backend: { service: { name: 'gw-gatewright-sync', port: { name: 'http' } } },
    });
    const route = specOf<{ rules: object[] }>(objects, 'HTTPRoute', 'gw-gatewright');
    expect(route.rules[0]).toEqual({
      matches: [{ path: { type: 'Exact', value: '/webhook' } }],
      backendRefs: [{ name: 'gw-gatewright-sync', port: 80 }],
    });
    expect(specOf(objects, 'NetworkPolicy', 'gw-gatewright-webhook')).toMatchObject({
      podSelector: { matchLabels: { 'app.kubernetes.io/component': 'sync' } },
      ingress: [{ ports: [{ port: 'metrics' }], from: [{ podSelector: {} }] }],
    });
  });

  it('has no route for pushes without a webhook Secret', async () => {
    const text = await renderText({ ...everything, sync: gitSync });
    expect(text).not.toContain('/webhook');
    expect(text).not.toContain('gw-gatewright-webhook');
  });
});

describe('an alert of a release', () => {
  it('concerns the metrics of this release only', async () => {
    const alerts = await alertsOf(everything);
    const selector = 'namespace="gateways", service="gw-gatewright-metrics"';
    for (const { alert, expr } of alerts) {
      const metrics = expr.match(/gatewright_\w+\{?[^}]*/g)!;
      expect(metrics.length, alert).toBeGreaterThan(0);
      for (const metric of metrics) expect(metric, alert).toContain(`{${selector}`);
    }
  });

  it('reports each missing component', async () => {
    const missing = async (values: object): Promise<unknown[]> => {
      const monitoring = { prometheusRule: { enabled: true } };
      const alerts = await alertsOf({ ...values, monitoring });
      return alerts
        .filter(({ alert }) => alert === 'GatewrightDown')
        .map(({ labels }) => labels.component);
    };
    expect(await missing(everything)).toEqual(['server', 'gateway', 'mcp', 'sync']);
    expect(await missing({ ...everything, sync: {} })).toEqual(['server', 'gateway', 'mcp']);
    expect(await missing({ ...complete, mode: 'all-in-one', sync: gitSync })).toEqual(['server']);
    const monitor = specOf<{ podTargetLabels: string[] }>(
      await render(everything),
      'ServiceMonitor',
      'gw-gatewright',
    );
    expect(monitor.podTargetLabels).toEqual(['app.kubernetes.io/component']);
  });

  it('reports a database that does not respond', async () => {
    const [first] = (await alertsOf(everything)).filter(({ expr }) =>
      expr.includes('gatewright_database_reachable'),
    );
    expect(first).toMatchObject({
      alert: 'GatewrightDatabaseUnreachable',
      labels: { severity: 'critical' },
    });
  });

  it('uses label values that the program sets', async () => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'src', name), 'utf8'))
      .join('\n');
    const expressions = (await alertsOf(everything)).map(({ expr }) => expr).join('\n');
    const states = new Set([...expressions.matchAll(/state="(\w+)"/g)].map(([, state]) => state!));
    expect(states.size).toBeGreaterThan(3);
    expect([...states].filter((state) => !sources.includes(`'${state}'`))).toEqual([]);
  });
});

describe('a pod of a release', () => {
  it.each(Object.entries(stories))(
    'spreads over nodes and zones with %s, with or without zone labels',
    async (_, values) => {
      for (const { name, spec } of podsOf(await render(values))) {
        if (name.endsWith('-mysql')) continue;
        expect(spec, name).toMatchObject({
          topologySpreadConstraints: [
            { topologyKey: 'kubernetes.io/hostname', matchLabelKeys: ['pod-template-hash'] },
          ],
          affinity: {
            podAntiAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                { podAffinityTerm: { topologyKey: 'topology.kubernetes.io/zone' } },
              ],
            },
          },
        });
      }
    },
  );

  it('spreads as the values say instead', async () => {
    const constraint = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' };
    const values = { ...complete, server: { pod: { topologySpreadConstraints: [constraint] } } };
    const { spec } = podsOf(await render(values)).find(({ name }) => name.endsWith('-server'))!;
    expect(spec).toMatchObject({ topologySpreadConstraints: [constraint] });
    expect(spec).not.toHaveProperty('affinity');
  });

  it.each(Object.entries(stories))(
    'shows the reason of a failure as its message with %s',
    async (_, values) => {
      const containers = podsOf(await render(values)).flatMap(containersOf);
      for (const container of containers) {
        expect(container).toHaveProperty('terminationMessagePolicy', 'FallbackToLogsOnError');
      }
    },
  );
});

describe('the test of a release', () => {
  const credentials = { clientId: 'a', clientSecret: 'canary', tsgId: '1' };
  const addresses = { adminBaseUrl: 'http://127.0.0.1:4', baseUrl: 'http://127.0.0.1:4/v1' };

  it.each<[string, string | null, RegExp]>([
    ['no credentials', null, /ENOENT/],
    [
      'no server',
      JSON.stringify({ ...credentials, ...addresses }),
      /oauth2\/access_token: .*ECONNREFUSED/,
    ],
    ['damaged credentials', '{', /JSON/],
  ])('ends with one line that names the cause with %s', async (_, content, cause) => {
    const file = join(mkdtempSync(join(tmpdir(), 'release-')), 'credentials.json');
    if (content !== null) writeFileSync(file, content);
    const text = readFileSync(join(chartFolder, 'files/api-test.mjs'), 'utf8');
    const script = text.replace('/run/gatewright/credentials.json', file);
    const { promise, resolve: done } = Promise.withResolvers<unknown[]>();
    execFile(process.execPath, ['--input-type=module', '--eval', script], (error, stdout, stderr) =>
      done([error?.code, stdout, stderr]),
    );
    const [code, stdout, stderr] = await promise;
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(/^failed: [^\n]+\n$/);
    expect(stdout).toMatch(cause);
    expect(stdout).not.toContain('canary');
  });
});

describe('the chart', () => {
  it.each(helmMajors)('writes integers from a million on as digits with Helm %i', async (major) => {
    const { stdout } = await helm(major, ['template', 'gw', chartFolder], {
      ...hook,
      settings: { GATEWRIGHT_CONNECTIONS_MAX: 1_000_000 },
      migrations: { strategy: 'hook', deadlineSeconds: 2_000_000 },
      mysql: { ...complete.mysql, maxConnections: 3_000_000 },
    });
    expect(stdout).toContain('name: GATEWRIGHT_CONNECTIONS_MAX, value: "1000000"');
    expect(stdout).toContain('activeDeadlineSeconds: 2000000');
    expect(stdout).not.toMatch(/\de\+\d/);
  });

  it('gives long releases names that differ and that a StatefulSet may have', async () => {
    const names = await Promise.all(
      ['a', 'b'].map(async (end) => {
        const words = ['template', `${'r'.repeat(52)}${end}`, chartFolder];
        const { stdout } = await helm(4, words, embedded);
        const objects = parseAllDocuments(stdout).map(
          (one) => one.toJSON() as KubernetesObject | null,
        );
        return objects.find((one) => one?.kind === 'StatefulSet')!.metadata.name;
      }),
    );
    expect(new Set(names).size).toBe(2);
    // The pods of a StatefulSet have its name and a hash of 10 characters in a label of at most 63.
    expect(names.map(({ length }) => length)).toEqual([52, 52]);
  });

  it.each<[string, object, RegExp]>([
    [
      'a password in the source',
      { sync: { enabled: true, source: 'https://a:b@git.example.com/a.git' } },
      /sync\.git\.existingSecret/,
    ],
    [
      'a token in the source',
      { sync: { enabled: true, source: 'https://token@git.example.com/a.git' } },
      /sync\.git\.existingSecret/,
    ],
    [
      'two kinds of a volume',
      {
        sync: {
          enabled: true,
          sourceVolume: { source: { emptyDir: {}, hostPath: { path: '/a' } } },
        },
      },
      /sync\.sourceVolume\.source takes one kind of volume, but has emptyDir and hostPath/,
    ],
    [
      'two kinds of a volume for files',
      { blobs: { volume: { emptyDir: {}, nfs: {} } } },
      /blobs\.volume takes one kind/,
    ],
  ])('rejects with the fix: %s', async (_, values, message) => {
    await expect(renderText({ ...complete, ...values })).rejects.toThrow(message);
  });
});

describe('the example of a private cluster', () => {
  const folder = join(root, 'examples/3-private-cluster');
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');

  it('creates every object that its values name', async () => {
    const text = readFileSync(join(folder, 'values.yaml'), 'utf8');
    const named = [
      ...text.matchAll(/(?:existingSecret|existingConfigMap|tlsSecret|claimName): ([\w-]+)/g),
      ...text.matchAll(/imagePullSecrets: \[\{name: ([\w-]+)/g),
    ].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(10);
    const claims = readdirSync(folder).filter((name) =>
      readme.includes(`-f examples/3-private-cluster/${name}`),
    );
    const created = `${readme}${claims.map((name) => readFileSync(join(folder, name), 'utf8')).join('')}`;
    const creation = (name: string): RegExp =>
      new RegExp(`kubectl create \\w+ (?:[\\w-]+ )?${name} |metadata: \\{name: ${name}\\}`);
    expect(named.filter((name) => !creation(name).test(created))).toEqual([]);
  });
});
