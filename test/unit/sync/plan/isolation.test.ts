/**
 * Checks that a fault in one workspace does not stop the others, and that nothing is removed by
 * mistake.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requireValidPart } from '../../../../src/commands/sources/valid-part.ts';
import { readDesired, readSource } from '../../../../src/sync/desired/desired.ts';
import { makePlan } from '../../../../src/sync/plan/plan.ts';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import type { WorkspaceScope } from '../../../../src/sync/resources/workspace-scope.ts';
import { manifest, sourceOf } from '../../../support/sync/manifests.ts';
import { ModelServer, owner } from '../../../support/sync/sync-model.ts';

type Texts = Readonly<Record<string, string>>;

const secrets = {
  environment: () => undefined,
  readValue: async () => undefined,
  requireSecrets: true,
};

const workspace = (name: string, metadata = ''): string =>
  manifest('Workspace', name, '{}', metadata);
const config = (name: string, within: string | null, weight = 1): string =>
  manifest(
    'Config',
    name,
    `config: {targets: [{weight: ${weight}}]}`,
    within === null ? '' : `, workspace: ${within}`,
  );

/** One file for each workspace and resource, and one of the organisation. */
const estate: Texts = {
  'org.yaml': config('shared', null),
  'sales/ws.yaml': workspace('sales'),
  'sales/a.yaml': config('a', 'sales'),
  'sales/b.yaml': config('b', 'sales'),
  'support/ws.yaml': workspace('support'),
  'support/a.yaml': config('a', 'support'),
  'support/b.yaml': config('b', 'support'),
};

async function planOf(
  after: Texts,
  options: { before?: Texts; scope?: WorkspaceScope; server?: ModelServer } = {},
): Promise<Plan> {
  const { before = estate, scope = null, server = new ModelServer() } = options;
  const { set } = await readDesired(sourceOf(before), secrets);
  server.apply(server.plan(set!));
  const read = requireValidPart(await readSource(sourceOf(after), secrets), scope);
  return makePlan(read, server.live(), { owner, takeOwnership: false, prune: true, now: 0, scope });
}

const reported = ({ changes, blocked }: Plan): string[] => [
  ...changes.map(({ action, id }) => `${action} ${id}`),
  ...blocked.map(({ reason, id }) => `${reason} ${id}`),
];
const without = (texts: Texts, ...paths: string[]): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([path]) => !paths.includes(path)));

describe('a workspace with a fault in the source', () => {
  const others = {
    'support/a.yaml': config('a', 'support', 2),
    'support/c.yaml': config('c', 'support'),
  };
  const healthy = ['update Config/support/a', 'create Config/support/c'];
  const wrongSpecs: Texts = {
    'an unknown field': manifest('Config', 'a', 'config: {}\nx: 1', ', workspace: sales'),
    'a secret that is not there': manifest(
      'McpIntegration',
      'crm',
      'url: https://x.example\nauth_type: headers\ntransport: http\n' +
        'configurations: {custom_headers: {Authorization: {valueFrom: {env: UNSET}}}}',
      ', workspace: sales',
    ),
    'a variable that is not set': manifest(
      'Config',
      'a',
      'config: {name: "${UNSET}"}',
      ', workspace: sales',
    ),
    'a reference that leads nowhere': manifest(
      'ApiKey',
      'k',
      'scopes: [logs.list]\ndefaults: {configRef: nothing}',
      ', workspace: sales',
    ),
  };

  it.each(Object.entries(wrongSpecs))(
    'stays unchanged for %s; the others are synced, including prunes',
    async (_, text) => {
      const after = { ...without(estate, 'support/b.yaml', 'sales/b.yaml'), ...others };
      const plan = await planOf({ ...after, 'sales/a.yaml': text });
      expect(reported(plan)).toEqual([...healthy, 'delete Config/support/b']);
      expect(plan.faults.map(({ workspaces }) => workspaces)).toEqual([['sales']]);
      expect(plan.faults[0]?.fault.position.file).toBe('sales/a.yaml');
    },
  );

  it('waits for an unavailable store, which is reported once and is no invalid input', async () => {
    const lost = { code: 'secret-unreachable', message: 'the store is away', fix: 'wait' };
    const sources = { ...secrets, readValue: async () => lost };
    const places = ['x', 'y'].map((name) => `{namespace: n, name: ${name}, key: k}`);
    const crm = manifest(
      'McpIntegration',
      'crm',
      `url: https://x.example\nauth_type: headers\ntransport: http
configurations: {custom_headers: {A: {valueFrom: {kubernetesSecret: ${places[0]}}}, \
B: {valueFrom: {kubernetesConfigMap: ${places[1]}, optional: true}}}}`,
      ', workspace: sales',
    );
    const texts = { 'sales.yaml': workspace('sales'), 'crm.yaml': crm };
    const alone = await readSource(sourceOf(texts), sources);
    const failure = (() => {
      try {
        return requireValidPart(alone, null);
      } catch (error) {
        return error as Error;
      }
    })();
    expect(failure).toMatchObject({ kind: 'unreachable' });
    expect((failure as Error).message.split('the store is away')).toHaveLength(2);
    const beside = await readSource(
      sourceOf({ ...without(estate, 'sales/ws.yaml'), ...texts }),
      sources,
    );
    const { faults = [] } = requireValidPart(beside, null);
    expect(new Set(faults.flatMap(({ workspaces }) => workspaces))).toEqual(new Set(['sales']));
  });

  const unclear: Texts = {
    'text that is not YAML': 'apiVersion: [',
    'a document without a kind': 'apiVersion: gatewright.dev/v1\nmetadata: {name: a}\n',
    'a misspelt key of metadata': manifest('Config', 'a', 'config: {}', ', workspce: sales'),
    'an undeclared workspace': config('a', 'sles'),
    'a duplicate name elsewhere': config('a', 'support', 9),
    'a misspelt kind': manifest('Confg', 'a', 'config: {}', ', workspace: sales'),
    'bytes that are not text': '\u0000',
  };

  it.each(Object.entries(unclear))(
    'removes nothing anywhere and writes the rest when the fault is %s',
    async (_, text) => {
      const plan = await planOf({
        ...without(estate, 'org.yaml', 'sales/b.yaml'),
        'support/ws.yaml': estate['support/ws.yaml']!,
        'more/ws.yaml': workspace('more'),
        'more/c.yaml': config('c', 'more'),
        'sales/a.yaml': text,
      });
      expect(plan.changes.map(({ action, id }) => `${action} ${id}`)).toEqual(
        expect.arrayContaining(['create Workspace/more', 'create Config/more/c']),
      );
      expect(plan.changes.filter(({ action }) => action === 'delete')).toEqual([]);
      expect(reported(plan)).not.toContain('create Config/sles/a');
      expect(plan.faults.length).toBeGreaterThan(0);
    },
  );

  it('is the one of the applied resource when its file cannot be read', async () => {
    const plan = await planOf({ ...estate, ...others, 'sales/a.yaml': 'a: [' });
    expect(reported(plan)).toEqual(healthy);
    expect(plan.faults).toMatchObject([{ workspaces: ['sales'], unread: 'sales/a.yaml' }]);
  });

  it('is blocked under its former name with all its contents while it is renamed', async () => {
    const after = {
      ...estate,
      'sales/ws.yaml': `${workspace('trade', ', previousNames: [sales]')}x: 1\n`,
      'sales/a.yaml': config('a', 'trade', 5),
      'sales/b.yaml': config('b', 'trade'),
    };
    expect(reported(await planOf(after))).toEqual([]);
    const lost = without(after, 'sales/ws.yaml');
    expect(reported(await planOf({ ...lost, 'sales/ws.yaml': 'a: [' }))).toEqual([]);
  });

  it('is blocked under its former name also when only a resource in it is wrong', async () => {
    const after = {
      ...estate,
      'sales/ws.yaml': workspace('trade', ', previousNames: [sales]'),
      'sales/a.yaml': config('a', 'trade', 5),
      'sales/b.yaml': manifest('Config', 'b', 'x: 1', ', workspace: trade'),
    };
    expect(reported(await planOf(after))).toEqual([]);
  });

  it('leaves references to live resources working, and blocks references to missing ones', async () => {
    const policy = (name: string, key: string): string =>
      manifest(
        'UsageLimitPolicy',
        name,
        `type: cost\ncreditLimit: 5\nconditions: [{key: api_key, apiKeyRef: sales/${key}}]\ngroupBy: [{key: api_key}]`,
        ', workspace: support',
      );
    const key = (name: string, more = ''): string =>
      manifest('ApiKey', name, `scopes: [logs.list]\n${more}`, ', workspace: sales');
    const before = { ...estate, 'sales/old.yaml': key('old') };
    const plan = await planOf(
      {
        ...before,
        'sales/new.yaml': key('new', 'x: 1'),
        'support/p.yaml': [policy('on-old', 'old'), policy('on-new', 'new')].join('---\n'),
      },
      { before },
    );
    expect(reported(plan)).toEqual([
      'create UsageLimitPolicy/support/on-old',
      'dependency UsageLimitPolicy/support/on-new',
    ]);
  });

  it('extends to the whole source when no other is valid, or when the relevant files are unclear', async () => {
    const broken = { ...without(estate, 'org.yaml'), 'support/a.yaml': 'x: [' };
    await expect(planOf({ 'all.yaml': Object.values(broken).join('---\n') })).rejects.toMatchObject(
      {
        kind: 'invalidInput',
        message: expect.stringContaining('all.yaml:'),
      },
    );
    const read = await readSource(
      {
        ...sourceOf(estate),
        faults: [
          {
            position: { file: 'sales/.gatewrightignore', line: 1, column: 1 },
            code: 'ignore-rule',
            message: 'm',
          },
        ],
      },
      secrets,
    );
    expect(() => requireValidPart(read, null)).toThrow('sales/.gatewrightignore:1:1 m');
  });
});

describe('a scope of workspaces', () => {
  it('limits comparison, writes and removals, and the guards count within it', async () => {
    const after = {
      ...without(estate, 'support/b.yaml', 'sales/b.yaml', 'org.yaml'),
      'support/a.yaml': config('a', 'support', 2),
      'sales/a.yaml': config('a', 'sales', 2),
    };
    const plan = await planOf(after, { scope: new Set(['support']) });
    expect(reported(plan)).toEqual(['update Config/support/a', 'delete Config/support/b']);
    expect(plan).toMatchObject({ owned: 3, desired: 2, unchanged: 1, faults: [] });
  });

  it('ignores faults elsewhere, but removes nothing that they may hide', async () => {
    const scope = new Set(['support']);
    const gone = without(estate, 'support/b.yaml');
    const wrong = {
      ...gone,
      'sales/a.yaml': manifest('Config', 'a', 'x: 1', ', workspace: sales'),
    };
    expect((await readDesired(sourceOf(wrong), secrets, scope)).faults).toBeUndefined();
    expect(reported(await planOf(wrong, { scope }))).toEqual(['delete Config/support/b']);
    const twice = { ...gone, 'sales/c.yaml': config('a', 'sales') };
    expect((await readDesired(sourceOf(twice), secrets, scope)).faults).toBeUndefined();
    expect(reported(await planOf(twice, { scope }))).toEqual(['unread Config/support/b']);
    const unread = { ...gone, 'sales/a.yaml': 'a: [' };
    expect((await readDesired(sourceOf(unread), secrets, scope)).faults).toHaveLength(1);
  });

  it('requires an existing workspace', async () => {
    await expect(planOf(estate, { scope: new Set(['suport']) })).rejects.toMatchObject({
      kind: 'invalidInput',
      message: expect.stringContaining('--workspace suport'),
    });
  });
});

it('keeps everything that a fault may hide, after any edit of any file in any layout', async () => {
  const manifests = Object.values(estate);
  const layout = fc.array(fc.nat({ max: 3 }), {
    minLength: manifests.length,
    maxLength: manifests.length,
  });
  const edit = fc.record({
    file: fc.nat({ max: 3 }),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    removed: fc.nat({ max: 30 }),
    added: fc.constantFrom(
      '',
      'x',
      ' ',
      ':',
      '[',
      '"',
      '-',
      '\n',
      '\t',
      '---\n',
      '#',
      '${X}',
      '&a',
    ),
  });
  let faulty = 0;
  await fc.assert(
    fc.asyncProperty(
      layout,
      fc.shuffledSubarray(manifests, { minLength: manifests.length }),
      edit,
      async (files, order, change) => {
        const texts = ['', '', '', ''];
        order.forEach((text, at) => {
          texts[files[at]!] += `---\n${text}`;
        });
        const sourceFrom = (all: readonly string[]): Texts =>
          Object.fromEntries(all.map((text, at) => [`${at}.yaml`, text]));
        const before = sourceFrom(texts);
        const text = texts[change.file]!;
        const at = Math.floor(change.at * text.length);
        texts[change.file] = text.slice(0, at) + change.added + text.slice(at + change.removed);
        const read = await readSource(sourceOf(sourceFrom(texts)), secrets);
        // An edit without a fault may be intended, or remove a whole manifest.
        if (read.set.faults.length === 0) return;
        faulty += 1;
        const server = new ModelServer();
        const { set } = await readDesired(sourceOf(before), secrets);
        server.apply(server.plan(set!));
        const faults = [...read.set.faults, ...read.waiting];
        const plan = makePlan({ ...read.set, faults }, server.live(), {
          owner,
          takeOwnership: false,
          prune: true,
          now: 0,
        });
        expect(plan.changes.filter(({ prune, action }) => prune || action === 'replace')).toEqual(
          [],
        );
      },
    ),
    { numRuns: 400 },
  );
  expect(faulty).toBeGreaterThan(100);
});
