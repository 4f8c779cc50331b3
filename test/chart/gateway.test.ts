/** Tests the gateway of the chart: its pods, network policies and database connections. */
import { describe, expect, it } from 'vitest';
import { chartFolder, complete, helm, render } from './helm.ts';
import { podsOf } from './restricted.ts';
import { componentLabels, findObject, servingPod, settingOf } from './serving-pods.ts';
import { everything, gitSync, withoutGateway } from './stories.ts';

describe('the gateway of the chart', () => {
  it('has pods of its own that serve inference alone, beside those of the control plane without it', async () => {
    const objects = await render(complete);
    const [gateway, server] = ['gateway', 'server'].map((name) => servingPod(objects, name)!);
    const [container] = gateway!.containers;
    expect(container).toMatchObject({
      args: ['serve', '--components', 'gateway'],
      ports: [
        { name: 'inference', containerPort: 8787 },
        { name: 'metrics', containerPort: 9464 },
      ],
      readinessProbe: { httpGet: { path: '/readyz', port: 'metrics' } },
    });
    expect(settingOf(gateway!, 'GATEWRIGHT_INFERENCE_PORT')).toBe('8787');
    expect(gateway!.topologySpreadConstraints).toHaveLength(1);
    expect(JSON.stringify(gateway!.topologySpreadConstraints)).toContain(
      '"app.kubernetes.io/component":"gateway"',
    );
    expect(server!.containers[0]).toMatchObject({
      args: ['serve', '--components', 'admin,jobs'],
      ports: [
        { name: 'http', containerPort: 8080 },
        { name: 'metrics', containerPort: 9464 },
      ],
    });
    expect(findObject(objects, 'Service', 'gw-gatewright-gateway')).toMatchObject({
      spec: {
        selector: componentLabels('gateway'),
        ports: [{ name: 'http', port: 80, targetPort: 'inference' }],
      },
    });
  });

  it('is left out with all that belongs to it', async () => {
    const objects = await render(withoutGateway);
    expect(objects.filter(({ metadata: { name } }) => /(?:gateway|mcp)$/.test(name))).toEqual([]);
    // The release's test calls the address that it is given.
    const others = objects.filter(({ metadata: { name } }) => !name.endsWith('-test'));
    expect(JSON.stringify(others)).not.toMatch(/inference|8787|8788/i);
    const test = podsOf(objects).find(({ name }) => name.endsWith('-test'))!;
    expect(test.spec.containers[0]).not.toHaveProperty('env');
    expect(servingPod(objects, 'server')!.containers[0]!.args).toEqual([
      'serve',
      '--components',
      'admin,jobs',
    ]);
  });

  it('is in the pods of the server with all in one, with sync or without, and stops as slowly as either', async () => {
    for (const sync of [{}, gitSync]) {
      const objects = await render({ ...complete, mode: 'all-in-one', sync });
      expect(servingPod(objects, 'gateway')).toBeUndefined();
      const server = servingPod(objects, 'server')!;
      expect(server.containers[0]!.args).toEqual([
        'serve',
        '--components',
        'admin,gateway,mcp,jobs',
      ]);
      expect(server.containers[0]!.ports.map(({ name }) => name)).toEqual([
        'http',
        'inference',
        'mcp',
        'metrics',
      ]);
      expect(settingOf(server, 'GATEWRIGHT_LAME_DUCK_SECONDS')).toBe('30');
      expect(settingOf(server, 'GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS')).toBe('110');
      expect(server.terminationGracePeriodSeconds).toBe(30 + 110 + 20);
      expect(findObject(objects, 'Service', 'gw-gatewright-gateway')).toMatchObject({
        spec: { selector: componentLabels('server'), ports: [{ targetPort: 'inference' }] },
      });
    }
  });

  it('is killed only after it has drained and charged responses of disconnected callers', async () => {
    const objects = await render({
      ...complete,
      gateway: { lameDuckSeconds: 7, drainSeconds: 300 },
    });
    const gateway = servingPod(objects, 'gateway')!;
    expect(settingOf(gateway, 'GATEWRIGHT_LAME_DUCK_SECONDS')).toBe('7');
    expect(settingOf(gateway, 'GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS')).toBe('300');
    expect(gateway.terminationGracePeriodSeconds).toBe(7 + 300 + 20);
    expect(servingPod(objects, 'server')!.terminationGracePeriodSeconds).toBe(30 + 20 + 10);
  });

  /** Everything that the gateway serves. */
  const prefixes = ['/v1/', '/v2/', '/v1beta/', '/v1beta1/', '/v1alpha/', '/ws/', '/model/'];

  it('is reached at hosts of its own, for its paths alone', async () => {
    const objects = await render(everything);
    expect(findObject(objects, 'Ingress', 'gw-gatewright-inference')).toMatchObject({
      metadata: { annotations: { a: 'e', c: 'd' } },
      spec: {
        ingressClassName: 'nginx',
        tls: [{ hosts: ['models.example.com'], secretName: 'tls' }],
        rules: [
          {
            host: 'models.example.com',
            http: {
              paths: prefixes.map((path) => ({
                path,
                pathType: 'Prefix',
                backend: { service: { name: 'gw-gatewright-gateway', port: { name: 'http' } } },
              })),
            },
          },
        ],
      },
    });
    expect(findObject(objects, 'Ingress', 'gw-gatewright')).toMatchObject({
      metadata: { annotations: { a: 'b', c: 'd' } },
    });
    expect(findObject(objects, 'HTTPRoute', 'gw-gatewright-inference')).toMatchObject({
      spec: {
        parentRefs: [{ name: 'public' }],
        hostnames: ['models.example.com'],
        rules: [
          {
            matches: prefixes.map((value) => ({ path: { type: 'PathPrefix', value } })),
            timeouts: { request: '0s', backendRequest: '0s' },
            backendRefs: [{ name: 'gw-gatewright-gateway', port: 443 }],
          },
        ],
      },
    });
  });

  it.each([
    ['components', 'gateway'],
    ['all-in-one', 'server'],
  ])(
    'reaches providers in mode %s at the named ports, from pods of the %s only',
    async (mode, pods) => {
      const providerPorts = [443, 11_434];
      const objects = await render({
        ...complete,
        mode,
        networkPolicy: { enabled: true, providerPorts, inferenceFrom: [{ podSelector: {} }] },
      });
      expect(findObject(objects, 'NetworkPolicy', 'gw-gatewright-gateway')).toMatchObject({
        spec: {
          podSelector: { matchLabels: componentLabels(pods) },
          policyTypes: ['Egress'],
          egress: [{ ports: providerPorts.map((port) => ({ port })) }],
        },
      });
      const { spec } = findObject<{ spec: { ingress: object[]; egress: object[] } }>(
        objects,
        'NetworkPolicy',
        'gw-gatewright',
      );
      const { 'app.kubernetes.io/component': _, ...release } = componentLabels(pods);
      const own = { podSelector: { matchLabels: release } };
      expect(spec.ingress).toContainEqual({
        ports: [{ port: 'inference' }],
        from: [{ podSelector: {} }, own],
      });
      expect(spec.egress).toContainEqual({
        to: [own],
        ports: [{ port: 8080 }, { port: 8787 }, { port: 8788 }],
      });
    },
  );

  it('counts in the connections of the notes and of the checked budget', async () => {
    const reported = async (values: object): Promise<string> => {
      const words = ['install', 'gw', chartFolder, '--dry-run=client', '--namespace', 'gateways'];
      return (await helm(4, words, values)).stdout;
    };
    const [apart, together, alone] = await Promise.all([
      reported(complete),
      reported({ ...complete, mode: 'all-in-one' }),
      reported(withoutGateway),
    ]);
    expect(apart).toMatch(/^inference {4}http:\/\/gw-gatewright-gateway\.gateways:80\/v1$/m);
    expect(apart).toMatch(
      /^connections {2}at most 108 .*\(pods of server, gateway, mcp and one more of each during an upgrade, 12 each\)$/m,
    );
    expect(together).toMatch(/^connections {2}at most 36 .*\(pods and one more during an upgrade/m);
    expect(alone).toMatch(/^connections {2}at most 36 /m);
    expect(alone).not.toMatch(/^(?:inference|MCP)/m);
    const busy = await reported(everything);
    expect(busy).toMatch(/^inference {4}https:\/\/models\.example\.com\/v1$/m);
    expect(busy).toMatch(/^connections {2}at most 336 .* of 500$/m);
  });

  it('is called by the test of the release, and its metrics are scraped', async () => {
    const objects = await render(everything);
    const test = podsOf(objects).find(({ name }) => name.endsWith('-test'))!;
    expect(test.spec.containers[0]!.env).toEqual([
      { name: 'INFERENCE_URL', value: 'http://gw-gatewright-gateway:443/v1' },
      { name: 'MCP_URL', value: 'http://gw-gatewright-mcp:8443' },
    ]);
    const { spec } = findObject<{ spec: { selector: object } }>(
      objects,
      'Service',
      'gw-gatewright-metrics',
    );
    const { 'app.kubernetes.io/component': _, ...release } = componentLabels('gateway');
    expect(spec.selector).toEqual(release);
  });
});
