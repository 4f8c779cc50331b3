/**
 * Checks that files of other programs are ignored and counted, and that nothing meant as a manifest
 * is.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkSource } from '../../../../src/sync/desired/desired.ts';
import { manifest, sourceOf, support } from '../../../support/sync/manifests.ts';

async function check(texts: Record<string, string>, named = false) {
  const source = sourceOf(texts);
  const files = source.files.map((file) => (named ? { ...file, isNamed: true } : file));
  return await checkSource(
    { ...source, files },
    { environment: () => undefined, readValue: async () => undefined, requireSecrets: false },
  );
}

const others: Record<string, string> = {
  'kustomization.yaml':
    'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n',
  'deployment.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {}\n',
  'configmap.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\n',
  'kubeconfig.yaml': 'apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\n',
  'terraform.yaml':
    'apiVersion: app.terraform.io/v1alpha2\nkind: Workspace\nmetadata: {name: a}\nspec: {}\n',
  'package.json': '{"name": "x", "version": "1.0.0", "scripts": {"a": "b"}}',
  'plan.json': '{"formatVersion": 1, "engine": "gatewright", "owner": "default", "changes": []}',
  'compose.yaml':
    'x-base: &base {image: a}\nservices:\n  web:\n    <<: *base\n    ports: ["80:80"]\n',
  'stack.yaml': 'Resources:\n  Bucket: !GetAtt Other.Arn\n',
  'repeated.json': '{"a": 1, "a": 2}',
  'list.json': '[{"a": 1}, 2]',
  'many.json': JSON.stringify(
    Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`k${at}`, at])),
  ),
};

describe('a file of another program', () => {
  it.each(Object.entries(others))('ignores and counts %s', async (path, text) => {
    const { faults, leftAlone, kinds } = await check({ [path]: text, 'ours.yaml': support });
    expect(faults).toEqual([]);
    expect(kinds).toEqual(['Workspace']);
    expect(leftAlone).toEqual({
      ignored: [],
      otherEnvironments: [],
      foreignFiles: [path],
      foreignDocuments: [],
    });
  });

  it('is counted by document next to manifests, and by item in a List', async () => {
    const foreign = others['configmap.yaml'] ?? '';
    const item = support.split('\n').join('\n  ').trimEnd();
    const list = `apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n- ${item.replace('support', 'b')}\n`;
    const { faults, leftAlone } = await check({
      'all.yaml': `${foreign}---\n${support}---\n${foreign}`,
      'list.yaml': list,
    });
    expect(faults).toEqual([]);
    expect(leftAlone.foreignDocuments).toEqual(['all.yaml:1', 'all.yaml:10', 'list.yaml:4']);
  });

  it('is not reported when it is empty', async () => {
    const { faults, leftAlone } = await check({ 'empty.json': '', 'comment.yaml': '# nothing\n' });
    expect([faults, leftAlone.foreignFiles]).toEqual([[], []]);
  });

  it('does not change the version of the source', async () => {
    const { readDesired } = await import('../../../../src/sync/desired/desired.ts');
    const sources = {
      environment: () => undefined,
      readValue: async () => undefined,
      requireSecrets: true,
    };
    const digests = await Promise.all(
      ['', others['plan.json'] ?? '', '{"a": 1}'].map(async (text) => {
        const { set } = await readDesired(
          sourceOf({ 'a.yaml': support, 'plan.json': text }),
          sources,
        );
        return set?.source.digest;
      }),
    );
    expect(new Set(digests).size).toBe(1);
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is a fault when the user named this very file', async () => {
    const { faults } = await check({ 'package.json': others['package.json'] ?? '' }, true);
    expect(faults.map(({ code, fix }) => [code, fix])).toEqual([
      ['not-a-manifest', 'a manifest begins with apiVersion: gatewright.dev/v1, kind and metadata'],
    ]);
  });
});

it('distinguishes a Git LFS pointer from a file without manifests', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'4d'.repeat(32)}\nsize 12345\n`;
  const { faults } = await check({ 'a.yaml': pointer });
  expect(faults).toMatchObject([
    { code: 'large-file-pointer', fix: expect.stringContaining('git lfs untrack') },
  ]);
});

describe('a document that was probably meant as a manifest', () => {
  const rest = 'metadata: {name: a}\nspec: {}\n';
  it.each([
    ['no apiVersion', `kind: Workspace\n${rest}`],
    ['no kind', `apiVersion: gatewright.dev/v1\n${rest}`],
    ['neither', rest],
    ['a misspelt key', `apiVersoin: gatewright.dev/v1\nkind: Workspace\n${rest}`],
    ['a misspelt key and kind', `apiVersoin: gatewright.dev/v1\nkind: Wrkspace\n${rest}`],
    ['another case of the kind', `Kind: Workspace\n${rest}`],
    ['a misspelt kind without apiVersion', `kind: Apikey\n${rest}`],
    ['a misspelt group', `apiVersion: gatewrigth.dev/v1\nkind: Anything\n${rest}`],
    ['a similar group and a known kind', `apiVersion: gateway.dev/v1\nkind: Workspace\n${rest}`],
    ['another ending of the group', `apiVersion: gatewright.io/v1\nkind: Workspace\n${rest}`],
    ['upper case', `apiVersion: GateWright.dev/v1\nkind: Workspace\n${rest}`],
    ['another version', `apiVersion: gatewright.dev/v2\nkind: Workspace\n${rest}`],
    ['no group', `apiVersion: v1\nkind: ApiKey\n${rest}`],
    ['no value', `apiVersion:\nkind: Anything\n${rest}`],
    ['no number', `apiVersion: 1\nkind: Workspace\n${rest}`],
    ['an anchor', `apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: &a {name: a}\n`],
    ['an anchor and no version', 'kind: Workspace\nmetadata: &a {name: a}\n'],
    ['a key twice', `apiVersion: gatewright.dev/v1\nkind: Workspace\nkind: Workspace\n${rest}`],
    [
      'a List of another version',
      `apiVersion: gatewright.dev/v9\nkind: List\nitems: [{apiVersion: gatewright.dev/v1, kind: Workspace, metadata: {name: a}}]\n`,
    ],
    [
      'a list of manifests',
      `- {apiVersion: gatewright.dev/v1, kind: Workspace, metadata: {name: a}}\n`,
    ],
    ['text', 'apiVersion gatewright.dev/v1\n'],
  ])('is a fault: %s', async (_, text) => {
    const { faults, leftAlone } = await check({ 'a.yaml': text });
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.every(({ position }) => position.file === 'a.yaml')).toBe(true);
    expect(leftAlone.foreignFiles).toEqual([]);
  });

  it('is a fault wherever it is cut off, except before its first letter', async () => {
    const whole = manifest('Config', 'c', 'config: {retry: {attempts: 3}}');
    const end = whole.indexOf('name: c');
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: end }), async (length) => {
        const { faults } = await check({ 'a.yaml': whole.slice(0, length) });
        expect(faults.length).toBeGreaterThan(0);
      }),
      { numRuns: end },
    );
  });

  it('is a fault when the file is not YAML, with a hint at the ignore file', async () => {
    const { faults, leftAlone } = await check({ 'chart.yaml': 'a: {{ .Values.x }}\nb: c: d\n' });
    expect(faults[0]).toMatchObject({ code: 'yaml-syntax' });
    expect(faults[0]?.fix).toContain(
      'name the file in .gatewrightignore if it contains no manifest',
    );
    expect(leftAlone.foreignFiles).toEqual([]);
  });
});
