/**
 * Tests that manifests form one set: unique identities, resolved references, independent of order.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { dump, loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { kindNames } from '../../../../src/model/kinds/kinds.ts';
import { type DesiredResult, readDesired } from '../../../../src/sync/desired/desired.ts';
import {
  inSupport,
  manifest,
  placesOf,
  readTexts,
  resourcesOf,
  sourceOf,
  support,
} from '../../../support/sync/manifests.ts';

const guardrail = (name: string, metadata = inSupport): string =>
  manifest('Guardrail', name, 'checks: [{id: default.wordCount}]\nactions: {deny: true}', metadata);

function messagesOf(desired: DesiredResult): string[] {
  return (desired.faults ?? []).map(({ position: { file, line, column }, message, fix }) =>
    [`${file}:${line}:${column} ${message}`, fix].filter((part) => part !== undefined).join(' | '),
  );
}

describe('identities', () => {
  it('reports both positions when an identity is declared twice', async () => {
    const texts = { 'a.yaml': support, 'b/c.yaml': `# again\n${support}` };
    expect(messagesOf(await readTexts(texts))).toEqual([
      'b/c.yaml:4:18 Workspace/support is declared twice, first at a.yaml:3:18 | remove one of the two',
    ]);
  });

  it('reports an unknown check of a guardrail and of a config where it is written, with the check that is meant', async () => {
    const checks = 'checks:\n- id: default.contains\n- id: default.contians\nactions: {deny: true}';
    const inline = 'config:\n  input_guardrails:\n  - {contians: {words: [a]}, deny: true}';
    const texts = {
      'a.yaml': [support, manifest('Guardrail', 'g', checks, inSupport)].join('---\n'),
      'c.yaml': manifest('Config', 'c', inline, inSupport),
    };
    expect(messagesOf(await readTexts(texts))).toEqual([
      expect.stringMatching(
        /^a\.yaml:\d+:\d+ spec\.checks\[1\]\.id is not a known check: did you mean "default\.contains"\?/,
      ),
      expect.stringMatching(
        /^c\.yaml:\d+:\d+ spec\.config\.input_guardrails\[0\]\.contians is not a known check: did you mean "default\.contains"\?/,
      ),
    ]);
  });

  it('keeps equal names in different workspaces and kinds apart', async () => {
    const sales = support.replace('support', 'sales');
    const texts = {
      'a.yaml': [support, sales, guardrail('x'), guardrail('x', ', workspace: sales')].join(
        '---\n',
      ),
      'b.yaml': [guardrail('x', ''), manifest('Config', 'x', 'config: {}', inSupport)].join(
        '---\n',
      ),
    };
    expect(resourcesOf(await readTexts(texts)).length).toBe(6);
  });

  it.each([
    [
      'slug',
      'McpIntegration',
      'url: https://a.example\nauthType: none\ntransport: http\nslug: crm',
    ],
    ['file', 'ApiKey', 'scopes: [mcp.invoke]\nsecretOutput: {file: {path: x.key}}'],
  ])('rejects two identities that share %s', async (_, kind, spec) => {
    const texts = {
      'a.yaml': manifest(kind, 'a', spec, inSupport),
      'b.yaml': manifest(kind, 'b', spec, inSupport),
      's.yaml': support,
    };
    const [fault, ...others] = (await readTexts(texts)).faults ?? [];
    expect(others).toEqual([]);
    expect([fault?.position.file, fault?.code]).toEqual(['b.yaml', 'duplicate']);
    expect(fault?.message).toContain('first at a.yaml:');
  });

  it('reserves the slug of a provider in its own workspace only', async () => {
    const provider = (name: string, workspace: string): string =>
      manifest('Provider', name, 'slug: main\nintegrationRef: ai', `, workspace: ${workspace}`);
    const texts = {
      'a.yaml': [provider('a', 'support'), provider('a', 'other')].join('---\n'),
      'i.yaml': manifest('Integration', 'ai', 'aiProviderId: openai', ''),
      's.yaml': `${support}---\n${support.replace('support', 'other')}`,
    };
    expect(resourcesOf(await readTexts(texts)).length).toBe(5);
    const twice = await readTexts({ ...texts, 'b.yaml': provider('b', 'support') });
    expect(placesOf(twice)).toEqual(['b.yaml:5:9 duplicate']);
  });

  it('allows renames in a circle, but not two renames from one name', async () => {
    const renamed = (name: string, former: string): string =>
      guardrail(name, `${inSupport}, previousNames: [${former}]`);
    const swap = { 'a.yaml': [renamed('a', 'b'), renamed('b', 'a'), support].join('---\n') };
    expect(resourcesOf(await readTexts(swap)).length).toBe(3);
    const both = { 'a.yaml': [renamed('a', 'c'), renamed('b', 'c'), support].join('---\n') };
    expect(placesOf(await readTexts(both))).toEqual(['a.yaml:10:57 duplicate']);
  });
});

describe('references', () => {
  const config = (reference: string, metadata = inSupport): string =>
    manifest(
      'Config',
      'routing',
      `config: {input_guardrails: [{guardrailRef: ${reference}}]}`,
      metadata,
    );

  async function referencesOf(texts: Record<string, string>): Promise<unknown> {
    const found = resourcesOf(await readTexts(texts)).find(
      ({ identity }) => identity.kind === 'Config',
    );
    return found?.spec.config;
  }

  it('resolves across files, in the same workspace first and then in the organisation', async () => {
    const own = guardrail('pii');
    const common = guardrail('pii', '');
    const texts = { 'a.yaml': config('pii'), 'b.yaml': common, 's.yaml': support };
    expect(await referencesOf(texts)).toEqual({ input_guardrails: [{ $ref: 'Guardrail/pii' }] });
    expect(await referencesOf({ ...texts, 'c.yaml': own })).toEqual({
      input_guardrails: [{ $ref: 'Guardrail/support/pii' }],
    });
  });

  it('resolves into a workspace from a key of the organisation, and from no other workspace', async () => {
    const key = (metadata: string): string =>
      manifest('ApiKey', 'k', 'scopes: [logs.view]\ndefaults: {configRef: support/c}', metadata);
    const others = {
      'c.yaml': manifest('Config', 'c', 'config: {}', inSupport),
      's.yaml': `${support}---\n${support.replace('support', 'other')}`,
    };
    const [found] = resourcesOf(await readTexts({ 'a.yaml': key(''), ...others }));
    expect(found?.spec.defaults).toEqual({ config_id: { $ref: 'Config/support/c' } });
    const beyond = await readTexts({ 'a.yaml': key(', workspace: other'), ...others });
    expect(placesOf(beyond)).toEqual(['a.yaml:6:25 out-of-reach']);
  });

  it('finds references at any depth of a config, next to slugs and inline documents', async () => {
    const spec = `config:
  targets:
    - input_guardrails: [{guardrailRef: pii}, pg-some-0a1b2c, {deny: true, wordCount: {maxWords: 5}}]
    - targets: [{output_guardrails: [{guardrailRef: pii}], after_request_hooks: [{guardrailRef: pii}]}]`;
    const texts = {
      'a.yaml': manifest('Config', 'routing', spec, inSupport),
      'b.yaml': guardrail('pii'),
      's.yaml': support,
    };
    const reference = { $ref: 'Guardrail/support/pii' };
    expect(await referencesOf(texts)).toEqual({
      targets: [
        {
          input_guardrails: [
            reference,
            'pg-some-0a1b2c',
            { deny: true, wordCount: { maxWords: 5 } },
          ],
        },
        { targets: [{ output_guardrails: [reference], after_request_hooks: [{ id: reference }] }] },
      ],
    });
  });

  it('lists each reference once, with the workspace', async () => {
    const spec =
      'config: {input_guardrails: [{guardrailRef: pii}], output_guardrails: [{guardrailRef: pii}]}';
    const texts = {
      'a.yaml': manifest('Config', 'routing', spec, inSupport),
      'b.yaml': guardrail('pii'),
      's.yaml': support,
    };
    const found = resourcesOf(await readTexts(texts)).find(
      ({ identity }) => identity.kind === 'Config',
    );
    expect(found?.references.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual([
      'Guardrail pii',
      'Workspace support',
    ]);
  });

  it.each([
    ['pi', 'did you mean "pii"?'],
    ['sales/pii', 'did you mean "pii"?'],
    ['something-else', 'declare it, or add an External for it'],
  ])('reports the position of a reference without target: %s', async (reference, fix) => {
    const texts = { 'a.yaml': config(reference), 'b.yaml': guardrail('pii'), 's.yaml': support };
    expect(messagesOf(await readTexts(texts))).toEqual([
      `a.yaml:5:46 Guardrail "${reference}" is not declared in this source | ${fix}`,
    ]);
  });

  it('requires that a referenced workspace exists, too', async () => {
    expect(
      messagesOf(
        await readTexts({ 'a.yaml': guardrail('pii', ', workspace: suport'), 's.yaml': support }),
      ),
    ).toEqual([
      'a.yaml:3:34 Workspace "suport" is not declared in this source | did you mean "support"?',
    ]);
  });

  it('rejects a reference to a resource with state absent', async () => {
    const absent = guardrail('pii').replace('spec:', 'state: absent\nspec:');
    const texts = { 'a.yaml': config('pii'), 'b.yaml': absent, 's.yaml': support };
    expect(messagesOf(await readTexts(texts))).toEqual([
      'a.yaml:5:46 Guardrail "pii" is declared absent at b.yaml:3:18',
    ]);
  });

  it('skips the check while part of the source cannot be read', async () => {
    const texts = { 'a.yaml': config('pii'), 'b.yaml': 'a: b: c\n', 's.yaml': support };
    expect(placesOf(await readTexts(texts))).toEqual(['b.yaml:1:5 yaml-syntax']);
  });

  it('resolves to an External', async () => {
    const external = manifest('External', 'pii', 'kind: Guardrail\nslug: pg-pii-1a2b3c', inSupport);
    const texts = { 'a.yaml': config('pii'), 'b.yaml': external, 's.yaml': support };
    const { set } = await readTexts(texts);
    expect(set?.externals).toMatchObject([
      {
        identity: { kind: 'Guardrail', workspace: 'support', name: 'pii' },
        by: 'slug',
        lookup: 'pg-pii-1a2b3c',
      },
    ]);
    expect(await referencesOf(texts)).toEqual({
      input_guardrails: [{ $ref: 'Guardrail/support/pii' }],
    });
  });

  it.each([
    ['kind: Guardrail', 'needs exactly one of spec.slug, spec.id and spec.name'],
    ['kind: Guardrail\nslug: a\nid: b', 'needs exactly one of spec.slug, spec.id and spec.name'],
    ['kind: Guardrail\nname: a\nid: b', 'needs exactly one of spec.slug, spec.id and spec.name'],
    ['kind: Guardrail\nname: 1', 'needs exactly one of spec.slug, spec.id and spec.name'],
    ['kind: Guardrai\nslug: a', 'spec.kind must be a kind'],
    ['kind: Guardrail\nslg: a', 'no field "slg"'],
  ])('rejects an External with %j', async (spec, message) => {
    const texts = { 'b.yaml': manifest('External', 'pii', spec, inSupport), 's.yaml': support };
    expect(messagesOf(await readTexts(texts)).join()).toContain(message);
  });
});

it('reports faults of free-form parts that the server would reject, together with all others', async () => {
  const texts = {
    'c.yaml': manifest('Config', 'c', 'config: {strategy: {mode: fallbck}}', inSupport),
    'g.yaml': manifest('Guardrail', 'g', 'checks: [{id: default.wordCount}]', inSupport),
    'm.yaml': manifest(
      'McpIntegration',
      'm',
      `url: http://169.254.169.254/
authType: none
transport: http
configurations: {customHeaders: {Host: {valueFrom: {env: UNSET}}}}`,
      inSupport,
    ),
    's.yaml': `${support}surprise: 1\n`,
  };
  const sources = {
    environment: () => undefined,
    readValue: async () => undefined,
    requireSecrets: false,
  };
  expect(placesOf(await readDesired(sourceOf(texts), sources))).toEqual([
    'c.yaml:5:29 wrong-value',
    'g.yaml:5:3 wrong-value',
    'm.yaml:5:8 wrong-value',
    'm.yaml:8:42 wrong-value',
    's.yaml:4:1 unknown-field',
  ]);
});

const exampleDirectory = join(import.meta.dirname, '../../../../examples/1-quickstart');
const exampleFiles = readdirSync(exampleDirectory).filter((name) => name.endsWith('.yaml'));
const exampleTexts = exampleFiles.map((name) => readFileSync(join(exampleDirectory, name), 'utf8'));

/** The input of a plan without positions. */
function meaningOf(desired: DesiredResult): unknown {
  return resourcesOf(desired).map(({ identity, spec, secrets, references, secretOutput }) => ({
    identity,
    spec,
    secrets: [...secrets.keys()].sort(),
    references: references
      .map(({ kind, workspace, name }) => `${kind}/${workspace}/${name}`)
      .sort(),
    secretOutput,
  }));
}

it('has the same meaning in any order of files, documents and keys', async () => {
  const documents = exampleTexts.flatMap((text) => loadAll(text)).filter((value) => value !== null);
  const expected = meaningOf(await readTexts({ 'a.yaml': exampleTexts.join('\n---\n') }));
  const numbers = fc.infiniteStream(fc.nat(1_000_000));
  await fc.assert(
    fc.asyncProperty(numbers, async (stream) => {
      const next = (below: number): number => (stream.next().value as number) % below;
      const texts: Record<string, string[]> = {};
      for (const document of shuffled(documents, next)) {
        const file = `${next(4)}.yaml`;
        texts[file] = [...(texts[file] ?? []), dump(shuffledKeys(document, next))];
      }
      const files = Object.entries(texts).map(([file, parts]) => [file, parts.join('---\n')]);
      expect(meaningOf(await readTexts(Object.fromEntries(files)))).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});

it('shows every kind in the quickstart example', async () => {
  const found = resourcesOf(await readTexts({ 'a.yaml': exampleTexts.join('\n---\n') }));
  expect(new Set(found.map(({ identity }) => identity.kind))).toEqual(new Set(kindNames));
});

function shuffled<T>(items: readonly T[], next: (below: number) => number): T[] {
  const left = [...items];
  return items.map(() => left.splice(next(left.length), 1)[0]!);
}

function shuffledKeys(value: unknown, next: (below: number) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffledKeys(item, next));
  if (typeof value !== 'object' || value === null) return value;
  const entries = shuffled(Object.entries(value), next);
  return Object.fromEntries(entries.map(([key, item]) => [key, shuffledKeys(item, next)]));
}
