/** Tests what the chart renders with both major versions of Helm, and which values it rejects with which fix. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { seed } from '../support/run/test-effort.ts';
import {
  chartFolder,
  complete,
  helm,
  helmMajors,
  helmProgram,
  render,
  renderText,
} from './helm.ts';
import { randomValues } from './random-values.ts';
import { breaches, containersOf, podsOf } from './restricted.ts';
import {
  allInOne,
  embedded,
  everything,
  gitSync,
  hook,
  privateCluster,
  stories,
  withoutGateway,
} from './stories.ts';

const root = resolve(import.meta.dirname, '../..');

/** Images that the program of this clone lists. */
function listedImages(values: object | null, ...words: string[]): Set<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-images-'));
  try {
    writeFileSync(join(folder, 'values.yaml'), JSON.stringify(values));
    const given = values === null ? [] : ['--values', 'values.yaml'];
    const program = [join(root, 'src/main.ts'), 'images', ...given, ...words];
    const options = { cwd: folder, encoding: 'utf8', env: {} } as const;
    return new Set(execFileSync(process.execPath, program, options).trim().split('\n'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

beforeAll(() => {
  for (const major of helmMajors) helmProgram(major);
});

describe('the files of the chart', () => {
  it('describes every value, and uses every value', () => {
    const readme = readFileSync(join(chartFolder, 'README.md'), 'utf8');
    const rows = [...readme.matchAll(/^\| `([\w.]+)` \|[^|]*\| (.*)\|$/gm)];
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter(([, , meaning]) => meaning!.trim() === '')).toEqual([]);
    const templates = readdirSync(join(chartFolder, 'templates'), {
      recursive: true,
      encoding: 'utf8',
    })
      .filter((name) => /\.(yaml|tpl|txt)$/.test(name))
      .map((name) => readFileSync(join(chartFolder, 'templates', name), 'utf8'))
      .join('\n');
    const unused = rows
      .map(([, path]) => path!)
      .filter((path) => !new RegExp(`\\b${path.split('.').at(-1)}\\b`).test(templates));
    expect(unused).toEqual([]);
  });

  it.each(helmMajors)('pass the strict lint of Helm %i', async (major) => {
    const result = await helm(major, ['lint', '--strict', chartFolder], complete);
    expect(result).toMatchObject({ exitCode: 0 });
  });
});

describe('rendering', () => {
  it.each(Object.entries(stories))(
    'renders %s identically with both major versions, every time',
    async (_, values) => {
      const [first, again, other] = await Promise.all([
        renderText(values, 4),
        renderText(values, 4),
        renderText(values, 3),
      ]);
      expect(again).toBe(first);
      expect(other).toBe(first);
    },
  );

  it.each(Object.entries(stories))(
    'creates only pods for %s that the restricted profile admits',
    async (_, values) => {
      const pods = podsOf(await render(values));
      expect(pods.length).toBeGreaterThan(1);
      expect(pods.flatMap(breaches)).toEqual([]);
      expect(pods.filter(({ spec }) => spec.automountServiceAccountToken !== false)).toEqual([]);
    },
  );

  it.each(Object.entries(stories))(
    'creates no Secret for %s, and grants no rights unless Kubernetes is used',
    async (story, values) => {
      const kinds = (await render(values)).map(({ kind }) => kind);
      expect(kinds.filter((kind) => /^(Secret|ClusterRole(Binding)?)$/.test(kind))).toEqual([]);
      const roles = kinds.filter((kind) => /^Role(Binding)?$/.test(kind));
      const count = { everything: 6, allInOne: 2 };
      expect(roles).toHaveLength(count[story as keyof typeof count] ?? 0);
    },
  );

  it('gives the daemon alone a token, and rights in the namespaces that are granted', async () => {
    const objects = await render(everything);
    const holders = podsOf(objects).flatMap((pod) =>
      containersOf(pod)
        .filter((container) => JSON.stringify(container).includes('serviceaccount'))
        .map(({ name }) => `${pod.name}/${name}`),
    );
    expect(holders).toEqual(['gw-gatewright-sync/sync']);
    const bindings = objects.filter(({ kind }) => kind === 'RoleBinding');
    expect(bindings.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)).toEqual([
      'gateways/gw-gatewright-sync',
      'apps/gw-gatewright-sync-gateways',
      'undefined/gw-gatewright-sync-state',
    ]);
    for (const binding of bindings) {
      expect(binding).toMatchObject({
        subjects: [{ kind: 'ServiceAccount', name: 'gw-gatewright-sync', namespace: 'gateways' }],
        roleRef: { kind: 'Role', name: binding.metadata.name },
      });
    }
    const own = await render({
      ...complete,
      sync: { enabled: true, source: 'a', kubernetes: { enabled: true } },
    });
    const places = own
      .filter(({ kind }) => kind === 'Role')
      .map(({ metadata }) => metadata.namespace);
    expect(places).toEqual(['gateways']);
    expect(JSON.stringify(own)).toContain(
      '{"name":"GATEWRIGHT_KUBERNETES_NAMESPACES","value":"gateways"}',
    );
  });

  it('runs everything in one pod, where sync uses localhost and does not affect readiness', async () => {
    const objects = await render(allInOne);
    const pods = podsOf(objects).filter(({ name }) => !name.endsWith('-test'));
    expect(pods.map(({ name }) => name)).toEqual(['gw-gatewright-server']);
    const [{ spec }] = pods as [(typeof pods)[number]];
    expect(spec.containers.map(({ name }) => name)).toEqual(['server', 'sync']);
    const [server, sync] = spec.containers;
    const bound = { name: 'MALLOC_MMAP_THRESHOLD_', value: '32768' };
    expect(sync!.env).toContainEqual(bound);
    expect(server!.env).not.toContainEqual(bound);
    expect(sync).not.toHaveProperty('readinessProbe');
    expect(sync!.env).toContainEqual({ name: 'GATEWRIGHT_SYNC_PORT', value: '9465' });
    const { args } = spec.initContainers!.find(({ name }) => name === 'credentials')!;
    expect(args).toContain('http://127.0.0.1:8080');
    const names = spec.volumes!.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const text = JSON.stringify(objects);
    expect(text).toContain(
      '{"kind":"ServiceAccount","name":"gw-gatewright","namespace":"gateways"}',
    );
    expect(text).toContain('{"name":"http","port":80,"targetPort":"sync"}');
    expect(text).not.toContain('"app.kubernetes.io/component":"sync"},"ports"');
  });

  it('publishes its status in a ConfigMap and holds a Lease, with rights to these only', async () => {
    const kubernetes = { status: true, lease: true };
    const objects = await render({ ...complete, sync: { ...gitSync, kubernetes } });
    const role = objects.filter(({ kind }) => kind === 'Role') as unknown as { rules: object[] }[];
    expect(role.map(({ rules }) => rules)).toEqual([
      [
        {
          apiGroups: [''],
          resources: ['configmaps'],
          resourceNames: ['gw-gatewright-sync-status'],
          verbs: ['get', 'patch'],
        },
        { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
        { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
        {
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          resourceNames: ['gw-gatewright-sync'],
          verbs: ['get', 'update'],
        },
      ],
    ]);
    const map = objects.find(({ metadata }) => metadata.name === 'gw-gatewright-sync-status');
    expect(map).toMatchObject({ kind: 'ConfigMap' });
    expect(map).not.toHaveProperty('data');
    const text = JSON.stringify(objects);
    expect(text).toContain('"value":"gateways/gw-gatewright-sync-status"');
    expect(text).toContain('"value":"gateways/gw-gatewright-sync"');
    expect(text).not.toContain('GATEWRIGHT_KUBERNETES_NAMESPACES');
  });

  it('logs in to Vault with a token for Vault, uses the proxy, and mounts secret settings as files', async () => {
    const pod = podsOf(await render(everything)).find(({ name }) => name.endsWith('-sync'))!;
    const { env } = pod.spec.containers[0]!;
    const values = Object.fromEntries(env!.map(({ name, value }) => [name, value]));
    expect(values).toMatchObject({
      GATEWRIGHT_VAULT_ADDRESS: 'https://vault.example.com:8200',
      GATEWRIGHT_VAULT_PATHS: 'secret/support,kv',
      GATEWRIGHT_VAULT_KUBERNETES_ROLE: 'gatewright',
      GATEWRIGHT_VAULT_KUBERNETES_TOKEN_FILE: '/var/run/secrets/gatewright/vault/token',
      GATEWRIGHT_VAULT_CA_FILE: '/etc/gatewright/vault/ca',
      GATEWRIGHT_NOTIFY_URL_FILE: '/etc/gatewright/settings/GATEWRIGHT_NOTIFY_URL',
      HTTPS_PROXY: 'http://proxy.example.com:3128',
      NO_PROXY: '.svc,10.0.0.0/8,gw-gatewright-server.gateways',
    });
    expect(values).not.toHaveProperty('HTTP_PROXY');
    expect(pod.spec.volumes).toContainEqual({
      name: 'vault-account',
      projected: {
        defaultMode: 288,
        sources: [
          { serviceAccountToken: { path: 'token', expirationSeconds: 3600, audience: 'vault' } },
        ],
      },
    });
  });

  it('gives the folder and the key of the bucket only to pods that serve files', async () => {
    const blobs = {
      volume: { persistentVolumeClaim: { claimName: 'files' } },
      s3: { bucket: 'files', endpoint: 'http://minio:9000', existingSecret: 'bucket' },
    };
    const settings = { GATEWRIGHT_BLOB_STORE: 's3' };
    const pods = podsOf(await render({ ...complete, blobs, settings, sync: gitSync }));
    const servers = pods.filter((pod) => JSON.stringify(pod).includes('"name":"blobs"'));
    expect(servers.length).toBeGreaterThan(0);
    for (const pod of pods) {
      const isServer = servers.includes(pod);
      expect(JSON.stringify(pod).includes('GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY')).toBe(isServer);
      if (isServer) expect(JSON.stringify(pod)).toContain('"claimName":"files"');
    }
    await expect(render({ ...complete, blobs })).rejects.toThrow('GATEWRIGHT_BLOB_STORE');
    const keyless = { s3: { bucket: 'files' } };
    await expect(render({ ...complete, blobs: keyless })).rejects.toThrow('existingSecret');
    const ofPod = { s3: { bucket: 'files', ownIdentity: true } };
    const signed = JSON.stringify(podsOf(await render({ ...complete, blobs: ofPod })));
    expect(signed).toContain('GATEWRIGHT_BLOB_S3_BUCKET');
    expect(signed).not.toContain('ACCESS_KEY');
    const passing = { bucket: 'files', existingSecret: 'bucket', keys: { sessionToken: 'token' } };
    expect(JSON.stringify(await render({ ...complete, blobs: { s3: passing } }))).toContain(
      'GATEWRIGHT_BLOB_S3_SESSION_TOKEN',
    );
  });

  it('keeps snapshot and spool in one volume, and the snapshot in the bucket where that is set', async () => {
    const outages = { volume: { hostPath: { path: '/outages' } }, snapshotInBucket: true };
    const blobs = { s3: { bucket: 'files', existingSecret: 'bucket' } };
    const [pod] = podsOf(await render({ ...complete, outages, blobs }));
    expect(pod!.spec.volumes).toContainEqual({ name: 'outages', hostPath: { path: '/outages' } });
    const text = JSON.stringify(pod);
    expect(text).toContain('{"name":"GATEWRIGHT_SNAPSHOT_BUCKET","value":"ON"}');
    for (const name of ['SPOOL', 'SNAPSHOT']) {
      const folder = `"GATEWRIGHT_${name}_DIRECTORY","value":"/var/lib/gatewright/outages`;
      expect(text).toContain(folder);
    }
    const usual = podsOf(await render(complete))[0]!.spec.volumes;
    expect(usual).toContainEqual({ name: 'outages', emptyDir: { sizeLimit: '3Gi' } });
    const off = podsOf(await render({ ...complete, outages: { snapshot: false, spool: false } }));
    expect(JSON.stringify(off)).not.toContain('/var/lib/gatewright/outages');
    await expect(render({ ...complete, outages })).rejects.toThrow('blobs.s3.bucket');
  });

  it('opens the port of the mail server to the pods that run jobs', async () => {
    const mailPort = async (settings: object): Promise<unknown> => {
      const values = { ...complete, networkPolicy: { enabled: true }, settings };
      const policy = (await render(values)).find(
        ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-mail'),
      );
      return (policy?.spec as { egress: { ports: object[] }[] } | undefined)?.egress[0]?.ports;
    };
    const host = { SMTP_HOST: 'smtp.example.com', SMTP_FROM: 'a@example.com' };
    expect(await mailPort({})).toBeUndefined();
    expect(await mailPort({ ...host, SMTP_MAIL: 'OFF' })).toBeUndefined();
    expect(await mailPort(host)).toEqual([{ port: 587 }]);
    expect(await mailPort({ ...host, GATEWRIGHT_SMTP_TLS: 'implicit' })).toEqual([{ port: 465 }]);
    expect(await mailPort({ ...host, GATEWRIGHT_SMTP_TLS: 'none' })).toEqual([{ port: 25 }]);
    expect(await mailPort({ ...host, SMTP_PORT: '2525' })).toEqual([{ port: 2525 }]);
  });

  it('opens the ports of Git, Vault and Kubernetes to sync only', async () => {
    const ports = async (sync: object): Promise<unknown> => {
      const values = { ...complete, networkPolicy: { enabled: true }, sync };
      const policies = (await render(values)).filter(({ kind }) => kind === 'NetworkPolicy');
      const { spec } = policies.find(({ metadata }) => metadata.name.endsWith('-sync')) ?? {};
      return (spec as { egress: { ports: { port: number }[] }[] })?.egress[0]?.ports.map(
        ({ port }) => port,
      );
    };
    const enabled = true;
    expect(await ports({ enabled, source: 'https://git.example.com/a.git#main' })).toEqual([443]);
    expect(await ports({ enabled, source: 'git@git.example.com:a/b.git' })).toEqual([22]);
    expect(
      await ports({
        enabled,
        source: 'ssh://git@git.example.com:2222/a.git',
        kubernetes: { enabled },
        vault: {
          address: 'http://vault:8200',
          paths: ['secret'],
          roleId: 'a',
          existingSecret: 'b',
          keys: { secretId: 'c' },
        },
      }),
    ).toEqual([2222, 443, 6443, 8200]);
    expect(await ports({ enabled, configMap: 'manifests' })).toBeUndefined();
  });

  it.each([
    ['a ConfigMap', { configMap: 'manifests' }, { configMap: { name: 'manifests' } }],
    [
      'a volume',
      { sourceVolume: { source: { persistentVolumeClaim: { claimName: 'manifests' } } } },
      { persistentVolumeClaim: { claimName: 'manifests' } },
    ],
  ])('takes %s as source', async (_, source, volume) => {
    const pods = podsOf(await render({ ...complete, sync: { enabled: true, ...source } }));
    const { spec } = pods.find(({ name }) => name.endsWith('-sync'))!;
    expect(spec.volumes).toContainEqual({ name: 'source', ...volume });
    expect(spec.containers[0]!.args).toEqual(['sync', '/etc/gatewright/source']);
  });

  it('moves every image to another registry', async () => {
    const global = {
      imageRegistry: 'registry.example.com:5000',
      imagePullSecrets: [{ name: 'pull' }],
    };
    for (const values of [complete, everything, embedded, hook]) {
      const pods = podsOf(await render({ ...values, global }));
      const images = pods.flatMap((pod) => containersOf(pod).map(({ image }) => image));
      expect(images.filter((image) => !image.startsWith('registry.example.com:5000/'))).toEqual([]);
    }
  });

  it('uses the images that `gatewright images` lists, and no others', async () => {
    const digest = `sha256:${'0a'.repeat(32)}`;
    const named = {
      ...embedded,
      image: { repository: 'mirror/gatewright', digest },
      global: { imageRegistry: 'registry.example.com:5000' },
    };
    for (const values of [everything, named, embedded, privateCluster]) {
      const pods = podsOf(await render(values));
      const used = pods.flatMap((pod) => containersOf(pod).map(({ image }) => image));
      expect(listedImages(values)).toEqual(new Set(used));
    }
    expect(listedImages(null, '--registry', 'here')).toEqual(
      new Set(['here/gatewright/gatewright:0.1.0', 'here/library/mariadb:10.11']),
    );
  });

  it('takes a digest instead of a tag', async () => {
    const digest = `sha256:${'0a'.repeat(32)}`;
    const pods = podsOf(await render({ ...complete, image: { digest } }));
    const images = new Set(pods.flatMap((pod) => containersOf(pod).map(({ image }) => image)));
    expect([...images]).toEqual([`ghcr.io/gatewright/gatewright@${digest}`]);
  });

  it('sets no number of autoscaled pods, and protects only components with several pods', async () => {
    const scaled = await render(everything);
    for (const component of ['server', 'gateway', 'mcp']) {
      const found = scaled.filter(({ metadata }) => metadata.name === `gw-gatewright-${component}`);
      expect(found.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(['HorizontalPodAutoscaler', 'PodDisruptionBudget']),
      );
      const deployment = found.find(({ kind }) => kind === 'Deployment');
      expect(deployment!.spec).not.toHaveProperty('replicas');
    }
    const kindsOf = async (values: object) => (await render(values)).map(({ kind }) => kind);
    expect(await kindsOf(complete)).toContain('PodDisruptionBudget');
    const single = { server: { replicas: 1 }, gateway: { replicas: 1 }, mcp: { replicas: 1 } };
    expect(await kindsOf({ ...complete, ...single })).not.toContain('PodDisruptionBudget');
  });

  it('keeps the names of objects within 63 characters, however long the release is', async () => {
    const words = ['template', 'r'.repeat(53), chartFolder];
    const { stdout } = await helm(4, words, embedded);
    const names = [...stdout.matchAll(/^ {2}name: (\S+)$/gm)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => name.length > 63)).toEqual([]);
  });

  it('requires nothing of its own release for a hook', async () => {
    const job = (await render(hook)).find(({ kind }) => kind === 'Job');
    const text = JSON.stringify(job);
    expect(text).toContain('pre-install,pre-upgrade');
    expect(text).not.toContain('serviceAccountName');
    const argo = { 'argocd.argoproj.io/hook': 'PreSync' };
    const other = await render({
      ...complete,
      migrations: { strategy: 'hook', hookAnnotations: argo },
    });
    expect(JSON.stringify(other.find(({ kind }) => kind === 'Job'))).not.toContain('helm.sh/hook');
  });

  it('gives the user that may change the schema to migrations alone', async () => {
    const pods = podsOf(await render(everything));
    const holders = pods.flatMap((pod) =>
      containersOf(pod)
        .filter((container) => JSON.stringify(container).includes('"ddl"'))
        .map(({ name }) => name),
    );
    expect(new Set(holders)).toEqual(new Set(['migrate']));
  });

  it('gives the previous master key to every container with the master key during a rotation', async () => {
    const masterKey = { existingSecret: 'keys', key: 'second', previousKey: 'first' };
    const before = await renderText(complete);
    const during = await renderText({ ...complete, masterKey });
    const count = (text: string, part: string): number => text.split(part).length - 1;
    expect(before).not.toContain('PREVIOUS');
    const holders = count(during, 'name: GATEWRIGHT_MASTER_KEY_FILE');
    expect(holders).toBeGreaterThan(1);
    expect(count(during, 'name: GATEWRIGHT_MASTER_KEY_PREVIOUS_FILE')).toBe(holders);
    const secret = {
      secretName: 'keys',
      defaultMode: 0o440,
      items: [
        { key: 'second', path: 'master-key' },
        { key: 'first', path: 'previous' },
      ],
    };
    const volumes = podsOf(await render({ ...complete, masterKey })).flatMap(({ spec }) =>
      (spec.volumes ?? []).filter((volume) => volume.name === 'master-key'),
    );
    expect(volumes.length).toBeGreaterThan(0);
    expect(volumes).toEqual(volumes.map(() => ({ name: 'master-key', secret })));
  });

  it('sets the environment variables of the settings', async () => {
    const [server] = podsOf(await render(everything)).filter(({ name }) =>
      name.endsWith('-server'),
    );
    const env = Object.fromEntries(
      server!.spec.containers[0]!.env!.map(({ name, value }) => [name, value]),
    );
    expect(env).toMatchObject({
      API_KEY_PREFIX: 'acme',
      AUDIT_LOGS_ENABLED: 'true',
      GATEWRIGHT_CONNECTIONS_MAX: '500',
      DB_SSL: 'VERIFY_CA',
      NODE_EXTRA_CA_CERTS: '/etc/gatewright/ca/ca.crt',
    });
  });

  it('follows the restricted profile for random values', async () => {
    await fc.assert(
      fc.asyncProperty(randomValues, async (values) => {
        expect(podsOf(await render(values)).flatMap(breaches)).toEqual([]);
      }),
      {
        endOnFailure: true,
        numRuns: 15,
        seed,
      },
    );
  });
});

describe('rejected values', () => {
  it.each<[string, object, RegExp]>([
    ['a misspelled value', { ...complete, server: { replica: 3 } }, /replica/],
    ['a misspelled setting', { ...complete, settings: { API_KEY_PREFX: 'a' } }, /API_KEY_PREFX/],
    [
      'a setting that has a value of its own',
      { ...complete, settings: { DB_HOST: 'a' } },
      /DB_HOST/,
    ],
    [
      'a secret among the settings',
      { ...complete, settings: { GATEWRIGHT_MASTER_KEY: 'a' } },
      /GATEWRIGHT_MASTER_KEY/,
    ],
    [
      'no master key',
      { mysql: complete.mysql },
      /kubectl create secret generic gatewright-master-key/,
    ],
    [
      'a master key that is the one before it too',
      { ...complete, masterKey: { existingSecret: 'a', key: 'b', previousKey: 'b' } },
      /leave it empty/,
    ],
    ['no database', { masterKey: complete.masterKey }, /mysql\.embedded\.enabled=true/],
    [
      'no user of the database',
      { ...complete, mysql: { host: 'a' } },
      /kubectl create secret generic gatewright-mysql/,
    ],
    [
      'two databases',
      { ...complete, mysql: { ...complete.mysql, embedded: { enabled: true } } },
      /leave mysql\.host empty/,
    ],
    [
      'an address with VERIFY_IDENTITY',
      {
        ...complete,
        mysql: { host: '10.0.0.1', existingSecret: 'a', tls: { mode: 'VERIFY_IDENTITY' } },
      },
      /VERIFY_CA/,
    ],
    [
      'half a client certificate',
      { ...complete, mysql: { ...complete.mysql, tls: { keys: { cert: 'tls.crt' } } } },
      /go together/,
    ],
    [
      'more connections than there are',
      { ...complete, mysql: { ...complete.mysql, maxConnections: 107 } },
      /108 connections are possible.*takes 107/,
    ],
    ['sync without a source', { ...complete, sync: { enabled: true } }, /sync\.source/],
    [
      'sync with two sources',
      { ...complete, sync: { enabled: true, source: 'a', configMap: 'b' } },
      /one of sync\.source/,
    ],
    [
      'a Vault without a way to sign in',
      { ...complete, sync: { ...gitSync, vault: { address: 'https://v', paths: ['secret'] } } },
      /sync\.vault\.kubernetesRole/,
    ],
    [
      'a Vault of which nothing is granted',
      { ...complete, sync: { ...gitSync, vault: { address: 'https://v', kubernetesRole: 'a' } } },
      /sync\.vault\.paths/,
    ],
    [
      'a role of a Vault that is nowhere',
      { ...complete, sync: { ...gitSync, vault: { kubernetesRole: 'a' } } },
      /sync\.vault\.address/,
    ],
    [
      'names of keys without their Secret',
      { ...complete, sync: { ...gitSync, git: { keys: { token: 'a' } } } },
      /sync\.git\.existingSecret/,
    ],
    [
      'a service account of sync in pods that are one',
      { ...allInOne, sync: { ...gitSync, serviceAccount: { existing: 'a' } } },
      /one service account/,
    ],
    [
      'a password in the address of a proxy',
      { ...complete, proxy: { https: 'http://user:secret@proxy:3128' } },
      /proxy/,
    ],
    [
      'a proxy that is set twice',
      {
        ...complete,
        proxy: { https: 'http://proxy:3128' },
        sync: { ...gitSync, secretSettings: { HTTPS_PROXY: { secret: 'a', key: 'b' } } },
      },
      /keep one/,
    ],
    [
      'a secret setting without its key',
      {
        ...complete,
        sync: { ...gitSync, secretSettings: { GATEWRIGHT_AGE_KEY: { secret: 'a' } } },
      },
      /GATEWRIGHT_AGE_KEY/,
    ],
    [
      'a setting that is no secret among those that are',
      { ...complete, sync: { ...gitSync, secretSettings: { PORT: { secret: 'a', key: 'b' } } } },
      /PORT/,
    ],
    [
      'signatures without keys',
      { ...complete, sync: { enabled: true, source: 'a', git: { verify: 'tag' } } },
      /sync\.git\.signers/,
    ],
    ['an Ingress without a host', { ...complete, ingress: { enabled: true } }, /ingress\.host/],
    [
      'fewer pods at most than at least',
      { ...complete, server: { autoscaling: { enabled: true, maxReplicas: 1 } } },
      /less than minReplicas/,
    ],
    [
      'fewer pods of the gateway at most than at least',
      { ...complete, gateway: { autoscaling: { enabled: true, maxReplicas: 1 } } },
      /gateway\.autoscaling\.maxReplicas is less than minReplicas/,
    ],
    [
      'the port of inference among the settings',
      { ...complete, settings: { GATEWRIGHT_INFERENCE_PORT: 1 } },
      /GATEWRIGHT_INFERENCE_PORT/,
    ],
    [
      'one host for the API and for inference',
      { ...complete, ingress: { enabled: true, host: 'a', inference: { host: 'a' } } },
      /paths of both begin with \/v1/,
    ],
    [
      'one host name of routes for the API and for inference',
      {
        ...complete,
        httpRoute: {
          enabled: true,
          parentRefs: [{ name: 'public' }],
          hostnames: ['a', 'b'],
          inference: { hostnames: ['b'] },
        },
      },
      /b is in httpRoute\.hostnames and in httpRoute\.inference\.hostnames/,
    ],
    [
      'a host for inference without an Ingress',
      { ...complete, ingress: { inference: { host: 'a' } } },
      /needs ingress\.enabled/,
    ],
    [
      'a host name for inference without a route',
      { ...complete, httpRoute: { inference: { hostnames: ['a'] } } },
      /needs httpRoute\.enabled/,
    ],
    [
      'a host for a gateway that is turned off',
      {
        ...withoutGateway,
        ingress: { enabled: true, host: 'a', inference: { host: 'b' } },
      },
      /gateway\.enabled turns off/,
    ],
    [
      'a hook before its database',
      { ...embedded, migrations: { strategy: 'hook' } },
      /use initContainer/,
    ],
  ])('%s', async (_, values, message) => {
    await expect(renderText(values)).rejects.toThrow(message);
  });
});

describe('alerts and dashboard', () => {
  const files = ['alerts.yaml', 'dashboard.json'].map((name) =>
    readFileSync(join(chartFolder, 'files', name), 'utf8'),
  );
  const [alerts] = files as [string, string];

  it('uses existing metrics', () => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'src', name), 'utf8'))
      .join('\n');
    const metrics = new Set(files.join('\n').match(/gatewright_\w+/g));
    expect(metrics.size).toBeGreaterThan(10);
    const known = (metric: string): boolean => {
      const base = metric.replace(/_(count|bucket|sum)$/, '');
      return (
        sources.includes(base) || sources.includes(`'${base.replace('gatewright_sync_', '')}'`)
      );
    };
    expect([...metrics].filter((metric) => !known(metric))).toEqual([]);
  });

  it.each(['http', 'inference', 'mcp'])('watches the requests of %s in both', (listener) => {
    const metric = `gatewright_${listener}_request_duration_seconds_count`;
    expect(files.filter((text) => text.includes(metric))).toHaveLength(files.length);
  });

  it('links each alert to a runbook', () => {
    const names = [...alerts.matchAll(/alert: (\w+)/g)].map(([, name]) => name!);
    const runbooks = [...alerts.matchAll(/docs\/runbooks\/(\w+)\.md/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(5);
    expect(runbooks).toEqual(names);
    // The template adds an alert for each component.
    const all = [...names, 'GatewrightDown'];
    const folder = join(root, 'docs/runbooks');
    expect(all.filter((name) => !existsSync(join(folder, `${name}.md`)))).toEqual([]);
    expect(readdirSync(folder)).toHaveLength(all.length);
  });
});
