/** Tests releases that are linked: a control plane that accepts gateways, and gateways without a database. */
import { describe, expect, it } from 'vitest';
import { complete, helmMajors, render, renderText } from './helm.ts';
import { findObject, servingPod, settingOf } from './serving-pods.ts';

const certificates = { existingSecret: 'link' };
const controlPlane = { ...complete, link: { enabled: true, certificates } };
const gateways = {
  masterKey: { existingSecret: 'gatewright' },
  link: { url: 'https://control.example.com:9443', certificates },
};
const issuer = { certManager: { issuer: { name: 'link', kind: 'ClusterIssuer' } } };

describe.each(helmMajors)('a linked release with Helm %s', (major) => {
  it('runs gateways only, which get no settings of a database', async () => {
    const objects = await render({ ...gateways, networkPolicy: { enabled: true } }, major);
    for (const component of ['gateway', 'mcp']) {
      const pod = servingPod(objects, component)!;
      expect(pod).not.toHaveProperty('initContainers');
      expect(settingOf(pod, 'GATEWRIGHT_LINK_URL')).toBe('https://control.example.com:9443');
      for (const name of ['CA', 'CERT', 'KEY']) {
        const path = settingOf(pod, `GATEWRIGHT_LINK_${name}_FILE`);
        expect(path).toBe(`/etc/gatewright/link/${name.toLowerCase()}`);
      }
    }
    expect(JSON.stringify(objects)).not.toMatch(/DB_|3306|gatewright-server/);
    const policy = findObject<{ spec: { egress: object[] } }>(
      objects,
      'NetworkPolicy',
      'gw-gatewright',
    );
    expect(policy.spec.egress).toContainEqual({ ports: [{ port: 9443 }] });
  });

  it('has gateways of their own with all in one too, and a route for inference alone', async () => {
    const hosts = { ingress: { enabled: true, inference: { host: 'inference.example.com' } } };
    const objects = await render({ ...gateways, ...hosts, mode: 'all-in-one' }, major);
    expect(servingPod(objects, 'gateway')).toBeDefined();
    const routes = objects.filter(({ kind }) => kind === 'Ingress');
    expect(routes.map(({ metadata: { name } }) => name)).toEqual(['gw-gatewright-inference']);
  });

  it('accepts gateways in the pods of the server of a control plane, behind a Service', async () => {
    const objects = await render({ ...controlPlane, networkPolicy: { enabled: true } }, major);
    const server = servingPod(objects, 'server')!;
    expect(server.containers[0]!.ports).toContainEqual({ name: 'link', containerPort: 8443 });
    expect(settingOf(server, 'GATEWRIGHT_LINK_PORT')).toBe('8443');
    expect(settingOf(server, 'GATEWRIGHT_LINK_CLIENTS')).toBe('gatewright-data-plane');
    expect(settingOf(servingPod(objects, 'gateway')!, 'GATEWRIGHT_LINK_PORT')).toBeUndefined();
    expect(findObject(objects, 'Service', 'gw-gatewright-link')).toMatchObject({
      spec: { ports: [{ name: 'link', port: 8443, targetPort: 'link' }] },
    });
    const policy = findObject<{ spec: { ingress: object[] } }>(
      objects,
      'NetworkPolicy',
      'gw-gatewright',
    );
    expect(policy.spec.ingress).toContainEqual({ ports: [{ port: 'link' }] });
  });

  it('has certificates of cert-manager for the names of each side', async () => {
    const dnsNames = ['control.example.com'];
    const certManager = { ...issuer.certManager, dnsNames };
    const control = await render(
      { ...complete, link: { enabled: true, certificates: { certManager } } },
      major,
    );
    expect(findObject(control, 'Certificate', 'gw-gatewright-link')).toMatchObject({
      spec: {
        secretName: 'gw-gatewright-link',
        issuerRef: { name: 'link', kind: 'ClusterIssuer' },
        usages: ['digital signature', 'server auth'],
        dnsNames: [
          'gw-gatewright-link',
          'gw-gatewright-link.gateways',
          'gw-gatewright-link.gateways.svc',
          'control.example.com',
        ],
      },
    });
    const others = await render(
      { ...gateways, link: { ...gateways.link, certificates: issuer } },
      major,
    );
    expect(findObject(others, 'Certificate', 'gw-gatewright-link')).toMatchObject({
      spec: {
        usages: ['digital signature', 'client auth'],
        dnsNames: ['gatewright-data-plane'],
      },
    });
  });

  const refused: [string, object, string][] = [
    ['both sides', { ...gateways, link: { ...gateways.link, enabled: true } }, 'keep one'],
    ['a link without certificates', { ...complete, link: { enabled: true } }, 'the link needs one'],
    [
      'two sources of certificates',
      { ...gateways, link: { ...gateways.link, certificates: { ...certificates, ...issuer } } },
      'the link needs one',
    ],
    ['a database', { ...gateways, ...complete }, 'mysql.host does not go with link.url'],
    [
      'sync',
      { ...gateways, sync: { enabled: true, configMap: 'manifests' } },
      'sync.enabled does not go with link.url',
    ],
    [
      'a console',
      { ...gateways, console: { enabled: true } },
      'console.enabled does not go with link.url',
    ],
    [
      'no gateway',
      { ...gateways, gateway: { enabled: false }, mcp: { enabled: false } },
      'gateway.enabled and mcp.enabled are both off',
    ],
  ];
  it.each(refused)('is refused with %s', async (_, values, fault) => {
    await expect(renderText(values, major)).rejects.toThrow(fault);
  });
});
