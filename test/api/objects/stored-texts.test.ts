/** Verifies that a guardrail which fails closed refuses requests whose model receives texts that a provider stores. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAssistants } from '../../support/upstream/assistants-provider.ts';
import {
  type SharedAccount,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';

let shared: SharedAccount;
let ours: Tenant;
const provider = startAssistants();
/** Ids of the tenant, by kind. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  shared = await startSharedAccount();
  shared.inference.upstream.script = provider.script;
  ours = await shared.tenant('ours');
  for (const kind of ['assistants', 'threads', 'conversations', 'responses']) {
    const params = kind === 'responses' ? { model: 'm', input: 'x' } : {};
    ids[kind] = (await shared.ask(ours, 'POST', `/${kind}`, params)).body.id;
  }
});

beforeEach(() => {
  shared.inference.upstream.reached.length = 0;
});

afterAll(() => shared[Symbol.asyncDispose]());

const guardrail = (more: object) => ({
  'default.contains': { words: ['bomb'], operator: 'none' },
  deny: true,
  ...more,
});

const ask = (path: string, params: object, actions: object, target: object) => {
  const config = { ...target, input_guardrails: [guardrail(actions)] };
  const headers = { 'x-gateway-config': JSON.stringify(config) };
  return shared.ask(ours, 'POST', path, params, headers);
};

const atProvider: readonly (readonly [string, () => readonly [string, object]])[] = [
  [
    'a previous response',
    () => ['/responses', { model: 'm', input: 'x', previous_response_id: ids.responses }],
  ],
  [
    'a conversation',
    () => ['/responses', { model: 'm', input: 'x', conversation: ids.conversations }],
  ],
  ['a stored prompt', () => ['/responses', { model: 'm', prompt: { id: 'pmpt_1' } }]],
  [
    'a thread and an assistant',
    () => [`/threads/${ids.threads}/runs`, { assistant_id: ids.assistants }],
  ],
];

describe.each(atProvider)('%s of a provider', (_, requestOf) => {
  it('is refused where a guardrail fails closed', async () => {
    const [path, params] = requestOf();
    const refused = await ask(path, params, { fail_closed: true }, { provider: ours.provider });
    expect(refused.status).toBe(446);
    expect(JSON.stringify(refused.body)).toContain('stored by the provider');
    expect(shared.inference.upstream.reached).toHaveLength(0);
  });

  it('may be continued otherwise', async () => {
    const [path, params] = requestOf();
    const { status } = await ask(path, params, {}, { provider: ours.provider });
    expect(status).not.toBe(446);
    expect(shared.inference.upstream.reached).toHaveLength(1);
  });
});

describe('a response that the gateway stores', () => {
  it('is continued and judged where a guardrail fails closed', async () => {
    const { upstream } = shared.inference;
    const target = { provider: 'vllm', custom_host: upstream.url };
    const first = { model: 'm', input: 'a bomb' };
    const headers = { 'x-gateway-config': JSON.stringify(target) };
    const { body } = await shared.ask(ours, 'POST', '/responses', first, headers);
    const second = { model: 'm', input: 'and now?', previous_response_id: body.id };
    const passed = await ask('/responses', second, { fail_closed: true }, target);
    expect(passed.status).toBe(200);
    const all = { fail_closed: true, scan_scope: 'all_messages' };
    expect((await ask('/responses', second, all, target)).status).toBe(446);
  });
});
