/** Tests the MCP gateway of the chart: its pods, routes, network policies and the refusals of contradicting values. */
import { describe, expect, it } from 'vitest';
import { chartFolder, complete, helm, render, renderText } from './helm.ts';
import { podsOf } from './restricted.ts';
import { componentLabels, findObject, servingPod, settingOf } from './serving-pods.ts';
import { everything } from './stories.ts';

describe('the MCP gateway of the chart', () => {
  it('has pods of its own that relay MCP alone, and a Service', async () => {
    const objects = await render(complete);
    const pod = servingPod(objects, 'mcp')!;
    expect(pod.containers[0]).toMatchObject({
      args: ['serve', '--components', 'mcp'],
      ports: [
        { name: 'mcp', containerPort: 8788 },
        { name: 'metrics', containerPort: 9464 },
      ],
    });
    expect(settingOf(pod, 'GATEWRIGHT_MCP_PORT')).toBe('8788');
    expect(pod.terminationGracePeriodSeconds).toBe(30 + 110 + 10);
    for (const kind of ['Deployment', 'PodDisruptionBudget']) {
      expect(findObject(objects, kind, 'gw-gatewright-mcp'), kind).toBeDefined();
    }
    expect(findObject(objects, 'Service', 'gw-gatewright-mcp')).toMatchObject({
      spec: {
        selector: componentLabels('mcp'),
        ports: [{ name: 'http', port: 80, targetPort: 'mcp' }],
      },
    });
    const scaled = await render(everything);
    expect(findObject(scaled, 'HorizontalPodAutoscaler', 'gw-gatewright-mcp')).toMatchObject({
      spec: { minReplicas: 2, maxReplicas: 10 },
    });
  });

  it('is left out with all that belongs to it, also of the pods of the server', async () => {
    for (const mode of ['components', 'all-in-one']) {
      const values = {
        ...complete,
        mode,
        mcp: { enabled: false },
        networkPolicy: { enabled: true },
      };
      const objects = await render(values);
      const others = objects.filter(({ metadata: { name } }) => !name.endsWith('-test'));
      expect(JSON.stringify(others)).not.toMatch(/"name":"mcp"|8788|gatewright-mcp/);
      const test = podsOf(objects).find(({ name }) => name.endsWith('-test'))!;
      expect(JSON.stringify(test.spec.containers[0]!.env)).not.toContain('MCP_URL');
    }
  });

  it('is in the pods of the server with all in one, whose Service then leads there', async () => {
    const gateway = { enabled: false };
    const objects = await render({ ...complete, mode: 'all-in-one', gateway });
    const server = servingPod(objects, 'server')!;
    expect(servingPod(objects, 'mcp')).toBeUndefined();
    expect(server.containers[0]!.args).toEqual(['serve', '--components', 'admin,mcp,jobs']);
    expect(server.containers[0]!.ports.map(({ name }) => name)).toEqual(['http', 'mcp', 'metrics']);
    expect(settingOf(server, 'GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS')).toBe('110');
    expect(findObject(objects, 'Service', 'gw-gatewright-mcp')).toMatchObject({
      spec: { selector: componentLabels('server'), ports: [{ targetPort: 'mcp' }] },
    });
  });

  it('is reached at hosts of its own, under every path', async () => {
    const objects = await render(everything);
    const backend = { service: { name: 'gw-gatewright-mcp', port: { name: 'http' } } };
    expect(findObject(objects, 'Ingress', 'gw-gatewright-mcp')).toMatchObject({
      metadata: { annotations: { a: 'f', c: 'd' } },
      spec: {
        ingressClassName: 'nginx',
        tls: [{ hosts: ['mcp.example.com'], secretName: 'mcp-tls' }],
        rules: [
          {
            host: 'mcp.example.com',
            http: { paths: [{ path: '/', pathType: 'Prefix', backend }] },
          },
        ],
      },
    });
    expect(findObject(objects, 'HTTPRoute', 'gw-gatewright-mcp')).toMatchObject({
      spec: {
        hostnames: ['mcp.example.com'],
        rules: [{ backendRefs: [{ name: 'gw-gatewright-mcp', port: 8443 }] }],
      },
    });
  });

  it('is reached by the named peers, and reaches MCP servers together with the server', async () => {
    const { spec } = findObject<{ spec: { ingress: object[] } }>(
      await render(everything),
      'NetworkPolicy',
      'gw-gatewright',
    );
    const { 'app.kubernetes.io/component': _, ...release } = componentLabels('mcp');
    const own = { podSelector: { matchLabels: release } };
    expect(spec.ingress).toContainEqual({
      ports: [{ port: 'mcp' }],
      from: [{ podSelector: {} }, own],
    });
    for (const [mode, values] of [
      ['components', ['server', 'mcp']],
      ['all-in-one', ['server']],
    ] as const) {
      const networkPolicy = { enabled: true, mcpServerPorts: [443, 8000] };
      const objects = await render({ ...complete, mode, networkPolicy });
      expect(findObject(objects, 'NetworkPolicy', 'gw-gatewright-mcp')).toMatchObject({
        spec: {
          podSelector: { matchExpressions: [{ operator: 'In', values }] },
          policyTypes: ['Egress'],
          egress: [{ ports: [{ port: 443 }, { port: 8000 }] }],
        },
      });
    }
  });

  it('has its address in the notes', async () => {
    const words = ['install', 'gw', chartFolder, '--dry-run=client', '--namespace', 'gateways'];
    const notes = async (values: object) => (await helm(4, words, values)).stdout;
    expect(await notes(complete)).toMatch(
      /^MCP {10}http:\/\/gw-gatewright-mcp\.gateways:80\/SERVER\/mcp$/m,
    );
    expect(await notes(everything)).toMatch(/^MCP {10}https:\/\/mcp\.example\.com\/SERVER\/mcp$/m);
  });

  it.each([
    [
      'the host of the API',
      { ingress: { enabled: true, host: 'a', mcp: { host: 'a' } } },
      /ingress\.mcp\.host must differ from ingress\.host/,
    ],
    [
      'the host of inference',
      { ingress: { enabled: true, host: 'a', inference: { host: 'b' }, mcp: { host: 'b' } } },
      /ingress\.mcp\.host must differ from ingress\.inference\.host/,
    ],
    ['a host without an Ingress', { ingress: { mcp: { host: 'a' } } }, /needs ingress\.enabled/],
    [
      'the host name of a route for inference',
      {
        httpRoute: {
          enabled: true,
          parentRefs: [{ name: 'public' }],
          inference: { hostnames: ['b'] },
          mcp: { hostnames: ['b'] },
        },
      },
      /b is in httpRoute\.inference\.hostnames and in httpRoute\.mcp\.hostnames/,
    ],
    [
      'a host while it is turned off',
      { mcp: { enabled: false }, ingress: { enabled: true, host: 'a', mcp: { host: 'b' } } },
      /lead to the MCP gateway, which mcp\.enabled turns off/,
    ],
    ['the setting that turns it off', { settings: { MCP_ENABLED: false } }, /set mcp\.enabled/],
    ['its port among the settings', { settings: { GATEWRIGHT_MCP_PORT: 1 } }, /MCP_PORT/],
  ])('is refused with %s', async (_, values, message) => {
    await expect(renderText({ ...complete, ...values })).rejects.toThrow(message);
  });
});
