/** Tests releases of regions: gateways with a database of their own, and a link to their home. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../src/settings.ts';
import { createPki } from '../support/callers/pki.ts';
import { chartFolder, complete, helmMajors, render, renderText } from './helm.ts';
import { findObject, servingPod, settingOf } from './serving-pods.ts';
import { regionHome, region as regionOfExample } from './stories.ts';

const certificates = { existingSecret: 'link' };
const link = { region: 'eu-west', url: 'https://home.example.com:9443', certificates };
const region = { ...complete, link };

interface Policy {
  readonly spec: { readonly ingress: object[]; readonly egress: object[] };
}

describe.each(helmMajors)('a release of a region with Helm %s', (major) => {
  it('runs gateways with jobs, which know the database of the region and its home', async () => {
    const objects = await render(region, major);
    expect(servingPod(objects, 'server')).toBeUndefined();
    for (const component of ['gateway', 'mcp']) {
      const pod = servingPod(objects, component)!;
      expect(pod.containers[0]!.args).toEqual(['serve', '--components', `${component},jobs`]);
      expect(settingOf(pod, 'GATEWRIGHT_REGION')).toBe('eu-west');
      expect(settingOf(pod, 'GATEWRIGHT_LINK_URL')).toBe('https://home.example.com:9443');
      expect(settingOf(pod, 'GATEWRIGHT_LINK_KEY_FILE')).toBe('/etc/gatewright/link/key');
      expect(settingOf(pod, 'GATEWRIGHT_LINK_PORT')).toBeUndefined();
      expect(settingOf(pod, 'DB_HOST')).toBe('mysql.example.com');
    }
  });

  it('migrates the database of the region, without the link', async () => {
    const objects = await render(region, major);
    const { initContainers } = servingPod(objects, 'gateway') as unknown as {
      initContainers: { args: string[]; env: { name: string }[]; volumeMounts: object[] }[];
    };
    const [migrate] = initContainers;
    expect(migrate!.args[0]).toBe('migrate');
    const names = migrate!.env.map(({ name }) => name);
    expect(names).toContain('DB_HOST');
    expect(names.filter((name) => /LINK|REGION/.test(name))).toEqual([]);
    const hook = await render({ ...region, migrations: { strategy: 'hook' } }, major);
    expect(findObject(hook, 'Job', 'gw-gatewright-migrate')).toBeDefined();
  });

  it('may reach its database and its home, and nobody reaches it by the link', async () => {
    const objects = await render({ ...region, networkPolicy: { enabled: true } }, major);
    const { spec } = findObject<Policy>(objects, 'NetworkPolicy', 'gw-gatewright');
    expect(spec.egress).toContainEqual({ ports: [{ port: 9443 }] });
    expect(spec.egress).toContainEqual({ ports: [{ port: 3306 }] });
    expect(spec.ingress).not.toContainEqual({ ports: [{ port: 'link' }] });
    expect(findObject(objects, 'Service', 'gw-gatewright-link')).toBeUndefined();
  });

  it('accepts gateways without a database in one component, with a certificate for both sides', async () => {
    const certManager = { issuer: { name: 'link', kind: 'Issuer' } };
    const values = { ...region, link: { ...link, enabled: true, certificates: { certManager } } };
    const objects = await render({ ...values, networkPolicy: { enabled: true } }, major);
    expect(settingOf(servingPod(objects, 'gateway')!, 'GATEWRIGHT_LINK_PORT')).toBe('8443');
    expect(settingOf(servingPod(objects, 'mcp')!, 'GATEWRIGHT_LINK_PORT')).toBeUndefined();
    expect(findObject(objects, 'Service', 'gw-gatewright-link')).toMatchObject({
      spec: { selector: { 'app.kubernetes.io/component': 'gateway' } },
    });
    expect(findObject(objects, 'Certificate', 'gw-gatewright-link')).toMatchObject({
      spec: {
        usages: ['digital signature', 'client auth', 'server auth'],
        dnsNames: [
          'gatewright-data-plane',
          'gw-gatewright-link',
          'gw-gatewright-link.gateways',
          'gw-gatewright-link.gateways.svc',
        ],
      },
    });
    const { spec } = findObject<Policy>(objects, 'NetworkPolicy', 'gw-gatewright');
    expect(spec.ingress).toContainEqual({ ports: [{ port: 'link' }] });
    const onlyMcp = await render({ ...values, gateway: { enabled: false } }, major);
    expect(findObject(onlyMcp, 'Service', 'gw-gatewright-link')).toMatchObject({
      spec: { selector: { 'app.kubernetes.io/component': 'mcp' } },
    });
  });

  const refused: [string, object, string][] = [
    ['no home', { ...region, link: { region: 'eu-west' } }, 'link.region needs link.url'],
    ['no database', { masterKey: complete.masterKey, link }, 'which only this region uses'],
    [
      'no certificates',
      { ...region, link: { ...link, certificates: {} } },
      'the link needs one of link.certificates.existingSecret',
    ],
    [
      'sync',
      { ...region, sync: { enabled: true, configMap: 'manifests' } },
      'sync.enabled does not go with link.url',
    ],
    [
      'a reader',
      { ...region, mysql: { ...complete.mysql, reader: { host: 'replica' } } },
      'mysql.reader.host does not go with link.url',
    ],
    [
      'settings that contradict its values',
      { ...region, settings: { GATEWRIGHT_REGION: 'us-east' } },
      'GATEWRIGHT_REGION',
    ],
    [
      'a name that is no region',
      { ...region, link: { ...link, region: 'EU_West' } },
      '[a-z0-9-]{0,62}',
    ],
  ];
  it.each(refused)('is refused with %s', async (_, values, fault) => {
    await expect(renderText(values, major)).rejects.toThrow(fault);
  });
});

describe('the example of regions', () => {
  const readme = readFileSync(join(chartFolder, '../../examples/5-regions/README.md'), 'utf8');
  it.each([
    ['home', regionHome],
    ['eu-west', regionOfExample],
  ])('names every object of the release %s, and no other', async (release, values) => {
    const objects = await render(values);
    const names = objects.map(({ metadata: { name } }) => name.replace(/^gw-/, `${release}-`));
    const inReadme = readme.match(new RegExp(`\\b${release}-gatewright[a-z-]*`, 'g'))!;
    expect([...new Set(inReadme)].sort()).toEqual([...new Set(names)].sort());
    for (const { kind } of objects) expect(readme).toContain(`| ${kind}`);
  });

  it.each([
    ['home', regionHome, 'server', null],
    ['the region', regionOfExample, 'gateway', 'eu-west'],
    ['the region', regionOfExample, 'mcp', 'eu-west'],
  ])('gives %s settings that the program takes', async (_, values, component, name) => {
    using pki = createPki();
    const authority = pki.authority('link');
    const { cert, key } = authority.issue({ name: 'pod', altNames: 'DNS:gatewright-data-plane' });
    const files: Record<string, string> = {
      GATEWRIGHT_MASTER_KEY_FILE: randomBytes(32).toString('base64'),
      DB_PASS_FILE: 'password',
      GATEWRIGHT_LINK_CA_FILE: authority.cert,
      GATEWRIGHT_LINK_CERT_FILE: cert,
      GATEWRIGHT_LINK_KEY_FILE: key,
    };
    const { env } = servingPod(await render(values), component)!.containers[0]!;
    const inPod = env.map(({ name: setting, value }) =>
      setting in files
        ? [setting.replace(/_FILE$/, ''), files[setting]]
        : [setting, value ?? 'from a Secret'],
    );
    const { controlLink, database } = readSettings(Object.fromEntries(inPod));
    expect(controlLink.region).toBe(name);
    expect(controlLink.listener === null).toBe(name !== null);
    expect(database?.host).toBe('mysql.databases.svc.cluster.local');
  });

  it('has one home and a region that connects to the name in its certificate', async () => {
    const home = await render(regionHome);
    const certificate = findObject<{ spec: { dnsNames: string[] } }>(
      home,
      'Certificate',
      'gw-gatewright-link',
    );
    const { url } = (regionOfExample as { link: { url: string } }).link;
    expect(certificate.spec.dnsNames).toContain(new URL(url).hostname);
    expect(findObject(home, 'Service', 'gw-gatewright-link')).toMatchObject({
      spec: { ports: [{ port: Number(new URL(url).port) }] },
    });
  });
});
