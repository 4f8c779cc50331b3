/** Verifies that a plan shows exactly what an apply then changes on a real server. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resultDocument } from '../../../../src/sync/report/document.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import type { Spec, SpecJson } from '../../../../src/sync/resources/resource-set.ts';
import { forTerminal } from '../../../../src/terminal-text.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { type ExpectedField, meaning, patched } from '../../../support/sync/applied-fields.ts';
import {
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

beforeEach(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterEach(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

interface PlannedApply {
  readonly text: string;
  readonly ending: string;
  readonly changes: readonly {
    readonly id: string;
    readonly action: string;
    readonly kind: keyof typeof import('../../../../src/model/kinds/kinds.ts')['kinds'];
    readonly ends: readonly string[];
    readonly fields: readonly (ExpectedField & { readonly loosens: boolean })[];
  }[];
}

async function plan(files: string): Promise<PlannedApply> {
  const result = await sync.cycle(files, { act: false });
  const text = forTerminal(textReport(result), { color: false });
  const { changes } = JSON.parse(JSON.stringify(resultDocument(result)));
  return { text, ending: result.ending, changes };
}

async function specs(): Promise<Map<string, Spec>> {
  const { plan: read } = await sync.cycle('', { act: false, prune: false });
  return new Map([...read.live].map(([key, { spec }]) => [key, spec]));
}

/** Secrets as in the plan document, which does not show how they change. */
function withoutSecrets(value: SpecJson | undefined): SpecJson {
  return JSON.parse(
    JSON.stringify(value ?? null, (_, inner) =>
      typeof inner === 'object' && inner !== null && '$secret' in inner ? '(secret)' : inner,
    ).replaceAll(/"\(secret [^"]*\)"/g, '"(secret)"'),
  );
}

/** Plans, applies, and compares the server with the predicted state. */
async function applyAsPlanned(files: string): Promise<PlannedApply> {
  const before = await specs();
  const visible = await plan(files);
  expect((await sync.cycle(files)).ending).toBe('success');
  const after = await specs();
  for (const { id, action, kind, fields } of visible.changes) {
    const made = (patched(withoutSecrets(before.get(id)), fields, [], []) ?? {}) as Spec;
    const [visibleAs, is] = [made, after.get(id)].map((spec) =>
      withoutSecrets(meaning(kind, withoutSecrets(spec))),
    );
    // When a write replaces the whole, the server adds the defaults of omitted fields.
    const isWhole = action !== 'update' || kind === 'GuardrailMcpBinding';
    if (!isWhole) expect(is, id).toEqual(visibleAs);
    else expect(is, id).toMatchObject(visibleAs as object);
  }
  expect((await plan(files)).changes).toEqual([]);
  return visible;
}

const workspace = `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
---
`;

function config(body: object): string {
  return `${workspace}
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing, workspace: support}
spec: {config: ${JSON.stringify(body)}}
`;
}

describe('a plan of a config', () => {
  const target = (at: number) => ({ provider: `provider-${at}`, weight: 30 });
  const routing = (count: number) => ({
    strategy: { mode: 'loadbalance' },
    targets: Array.from({ length: count }, (_, at) => target(at)),
  });

  it('shows an added tenth target, and the operation as create or update', async () => {
    const made = await applyAsPlanned(config(routing(9)));
    expect(made.text).toContain('+ create Config/support/routing');
    expect(made.text).toContain('    + spec.config.targets[8].provider: "provider-8"\n');
    const added = await applyAsPlanned(config(routing(10)));
    expect(added.ending).toBe('changesPresent');
    expect(added.text).toBe(`\
~ update Config/support/routing  all.yaml:7:1
    + spec.config.targets[9].provider: "provider-9"
    + spec.config.targets[9].weight: 30

Plan: 1 to update; 1 unchanged.
`);
  });

  it('shows a deeply nested change, and a target inserted in front as one change', async () => {
    await applyAsPlanned(config(routing(3)));
    const targets = [target(7), target(0), { ...target(1), weight: 70 }, target(2)];
    const { text } = await applyAsPlanned(config({ ...routing(0), targets }));
    expect(text).toContain(`\
    + spec.config.targets[0].provider: "provider-7"
    + spec.config.targets[0].weight: 30
    ~ spec.config.targets[2].weight: 30 → 70
`);
  });

  it('shows where two long texts differ at any position, and every line of a prompt', async () => {
    const prompt = (end: string) => ({
      override_params: { user: `${'x'.repeat(5000)}${end}`, system: `a\nb\n${end}\nd` },
    });
    await applyAsPlanned(config(prompt('one')));
    const { text } = await applyAsPlanned(config(prompt('two')));
    expect(text).toMatch(/~ spec\.config\.override_params\.system line 3: "one" → "two"\n/);
    expect(text).toMatch(/user: "…x+one" \(5003 characters\) → "…x+two" \(5003 characters\)\n/);
  });

  it('treats the $ref of a JSON Schema as data, and shows changes beside it', async () => {
    const schema = (description: string) => ({
      override_params: { response_format: { $ref: '#/$defs/answer', description } },
    });
    await applyAsPlanned(config(schema('a')));
    const { text } = await applyAsPlanned(config(schema('b')));
    expect(text).toContain('spec.config.override_params.response_format.description: "a" → "b"');
  });
});

describe('a plan of every kind', () => {
  it('predicts the new state of each value', async () => {
    await applyAsPlanned(everyKind);
    const changed = everyKind
      .replace('description: Customer support', "icon: ''")
      .replace('rateLimits: [{type: requests, unit: rpm, value: 600}]', 'rateLimits: []')
      .replace('maxWords: 200', 'maxWords: 300')
      .replace(', on_fail: {feedback', ', on_success: {feedback')
      .replace('{provider: openai, weight: 1}', '{provider: azure, weight: 1}')
      .replace('scopes: [completions.write, mcp.invoke]', 'scopes: [logs.view, mcp.invoke]')
      .replace(', periodicReset: monthly}\n  defaults: {configRef', '}\n  defaults: {configRef')
      .replace('allowConfigOverride: false, ', '')
      .replace('  expiresAt: 2028-03-31T00:00:00Z\n', '')
      .replace('https://crm.example.com/mcp', 'https://crm.example.com/mcp2')
      .replace('GW_VAR_CRM_TOKEN', 'GW_VAR_OTHER_TOKEN')
      .replace(', description: CRM tools', '')
      .replace(', runOn: [input]', '')
      .replace('creditLimit: 12.5', 'creditLimit: 13.5');
    const { text } = await applyAsPlanned(changed);
    for (const line of [
      '- spec.description: "Customer support"  (goes back to none)',
      '- spec.rateLimits[0].value: 600  ! loosens',
      '~ spec.checks[0].parameters.maxWords: 200 → 300  ! loosens',
      '+ spec.scopes[0]: "logs.view"  ! loosens',
      '- spec.usageLimits.periodicReset: "monthly"  (goes back to no reset)',
      '- spec.defaults.allowConfigOverride: false  (goes back to true)  ! loosens',
      '- spec.expiresAt: "2028-03-31T00:00:00.000Z"  (goes back to never)  ! loosens',
      '~ spec.url: "https://crm.example.com/mcp" → "https://crm.example.com/mcp2"',
      'Authorization: (secret) → (secret env:GW_VAR_OTHER_TOKEN)  (another value)',
      '- spec.runOn[0]: "input"  (goes back to input and output)',
      '~ spec.creditLimit: 12.5 → 13.5  ! loosens',
      '- spec.description: "CRM tools"  (goes back to none)',
    ]) {
      expect(text).toContain(line);
    }
  });

  it('lists under a replacement what is deleted with it', async () => {
    const key = (spec: string) => `${workspace}
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot, workspace: support}
spec: {scopes: [logs.view]${spec}}
`;
    await applyAsPlanned(key(', description: mine'));
    const user = '6fd43ed1-0b5e-4c8e-a6f7-0a8ba3c9e111';
    const { text, changes } = await applyAsPlanned(key(`, subType: user, userId: ${user}`));
    expect(text).toContain(`\
± replace ApiKey/support/bot  ends its id and the key's value (a new one is made) and the usage counted \
for it, all.yaml:7:1
    - spec.description: "mine"  (goes back to none)
    ~ spec.subType: "service" → "user"
    + spec.userId: "${user}"  ! loosens
`);
    expect(changes[0]?.ends).toContain('the usage counted for it');
  });

  it('shows undeclared resources only when a write deletes them', async () => {
    const key = (limit: number) => `${workspace}
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot, workspace: support}
spec: {scopes: [logs.view], usageLimits: {creditLimit: ${limit}}}
`;
    await applyAsPlanned(key(5));
    const { plan: read } = await sync.cycle(key(5), { act: false });
    const { id } = read.live.get('ApiKey/support/bot')!;
    await server.request('PUT', `/v1/api-keys/${id}`, {
      body: { usage_limits: { credit_limit: 5, periodic_reset: 'weekly' } },
    });
    expect((await plan(key(5))).changes).toEqual([]);
    const { text } = await applyAsPlanned(key(4));
    expect(text).toContain(`\
    ~ spec.usageLimits.creditLimit: 5 → 4
    - spec.usageLimits.periodicReset: "weekly"  (goes back to no reset)
`);
  });
});
