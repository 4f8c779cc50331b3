/** Verifies the requests and verdicts of the checks of partner services, each against a local server. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refusedChecks } from '../../../../src/model/guardrails/partner-checks.ts';
import { remoteCheckKinds } from '../../../../src/model/guardrails/remote-check-kinds.ts';
import {
  answered,
  type CheckBench,
  chat,
  type LocalService,
  openBench,
  startService,
} from '../../../support/guardrails/local-service.ts';

let service: LocalService;
let bench: CheckBench;

const apiKey = 'canary-partner-key';
const bearer = { authorization: `Bearer ${apiKey}` };
const question = 'the question';
const answer = 'the answer';

/** The published form of a check: its request, and a response that passes and one that fails. */
interface PartnerCase {
  readonly id: string;
  readonly parameters?: object;
  readonly credentials?: object;
  /** Judges a response instead of a request. */
  readonly isOutput?: boolean;
  readonly path: string;
  readonly headers: object;
  readonly body: object;
  readonly passing: object;
  readonly failing: object;
  readonly findings?: readonly string[];
}

const patronus = (id: string, evaluator: object, isOutput = true): PartnerCase => ({
  id: `patronus.${id}`,
  isOutput,
  path: '/v1/evaluate',
  headers: { 'x-api-key': apiKey },
  body: {
    evaluators: [{ explain_strategy: 'always', ...evaluator }],
    ...(isOutput ? { evaluated_model_input: question } : {}),
    evaluated_model_output: isOutput ? answer : question,
  },
  passing: { results: [{ error_message: null, evaluation_result: { pass: true } }] },
  failing: { results: [{ error_message: null, evaluation_result: { pass: false } }] },
});
const judge = (criteria: string) => ({ evaluator: 'judge', criteria });

const qualifire = (
  id: string,
  asks: object,
  isOutput = false,
  parameters: object = {},
): PartnerCase => ({
  id: `qualifire.${id}`,
  isOutput,
  parameters,
  path: '/api/evaluation/evaluate',
  headers: { 'x-qualifire-api-key': apiKey },
  body: { input: question, ...(isOutput ? { output: answer } : {}), ...asks },
  passing: { status: 'success', evaluationResults: [] },
  failing: { status: 'failed', evaluationResults: [] },
});

const promptfoo = (kind: string, passing: object, failing: object): PartnerCase => ({
  id: `promptfoo.${kind}`,
  credentials: {},
  path: `/${kind}`,
  headers: {},
  body: { input: question },
  passing: { results: [passing] },
  failing: { results: [failing] },
});

const pillar = (id: string, kind: string, isOutput: boolean): PartnerCase => ({
  id: `pillar.${id}`,
  isOutput,
  parameters: { scanners: ['pii', 'secrets'] },
  path: `/scan/${kind}`,
  headers: bearer,
  body: { message: isOutput ? answer : question, scanners: { pii: true, secrets: true } },
  passing: { pii: false, prompt_injection: true, secrets: null },
  failing: { pii: true, secrets: null },
  findings: ['pii'],
});

const acuvity = (id: string): PartnerCase => ({
  id,
  parameters: { prompt_injection: true, prompt_injection_threshold: 0.5, toxic: true },
  path: '/_acuvity/scan',
  headers: bearer,
  body: { anonymization: 'FixedSize', messages: [question], redactions: [], type: 'Input' },
  passing: { extractions: [{ data: question, exploits: { prompt_injection: 0.4 } }] },
  failing: { extractions: [{ data: question, exploits: { prompt_injection: 0.6 } }] },
  findings: ['prompt_injection'],
});

const promptSecurity = (id: string, target: string, isOutput: boolean): PartnerCase => ({
  id: `promptsecurity.${id}`,
  isOutput,
  parameters: { user: 'jane' },
  path: '/api/protect',
  headers: { 'app-id': apiKey },
  body: { [target]: isOutput ? answer : question, user: 'jane' },
  passing: { result: { [target]: { action: 'pass', modified_text: null } } },
  failing: { result: { [target]: { action: 'block', violations: ['Secrets'] } } },
  findings: ['Secrets'],
});

const scores = (injection: number) => ({
  category_scores: [
    { category: 'EVASION', score: 0 },
    { category: 'PROMPT_INJECT', score: injection },
    { category: 'TOXIC', score: 0.1 },
  ],
});

const cases: readonly PartnerCase[] = [
  acuvity('acuvity.Acuvity'),
  acuvity('acuvity.scan'),
  {
    id: 'akto.scan',
    path: '/api/validate/request',
    headers: bearer,
    body: { payload: JSON.stringify({ prompt: question, model: 'gpt-4o' }) },
    passing: { Allowed: true, Reason: '' },
    failing: { Allowed: false, Reason: 'policy' },
  },
  {
    id: 'aporia.validateProject',
    parameters: { projectID: 'p/1' },
    path: '/p%2F1/validate',
    headers: { 'x-aporia-api-key': apiKey },
    body: {
      explain: true,
      messages: [{ role: 'user', content: question }],
      validation_target: 'prompt',
    },
    passing: { action: 'passthrough' },
    failing: { action: 'modify' },
    findings: ['modify'],
  },
  {
    id: 'crowdstrike-aidr.guardChatCompletions',
    path: '/v1/guard_chat_completions',
    headers: bearer,
    body: {
      guard_input: { messages: [{ role: 'user', content: question }] },
      event_type: 'input',
      app_id: 'gatewright',
      llm_provider: 'openai',
      model: 'gpt-4o',
      extra_info: {},
    },
    passing: { status: 'Success', result: { blocked: false, transformed: false } },
    failing: { status: 'Success', result: { blocked: true, policy: 'strict' } },
    findings: ['strict'],
  },
  {
    id: 'f5-guardrails.scan',
    parameters: { projectId: 'p1' },
    path: '/backend/v1/scans',
    headers: bearer,
    body: { input: question, project: 'p1' },
    passing: { result: { outcome: 'cleared' } },
    failing: { result: { outcome: 'flagged' } },
    findings: ['flagged'],
  },
  {
    id: 'javelin.guardrails',
    credentials: { apiKey, application: 'shop' },
    path: '/v1/guardrails/apply',
    headers: { 'x-javelin-apikey': apiKey, 'x-javelin-application': 'shop' },
    body: { input: { text: question }, config: {}, metadata: {} },
    passing: { assessments: [{ trustsafety: { request_reject: false } }] },
    failing: {
      assessments: [
        { trustsafety: { request_reject: false } },
        { promptinjectiondetection: { request_reject: true } },
      ],
    },
    findings: ['promptinjectiondetection'],
  },
  {
    id: 'lasso.classify',
    parameters: { conversationId: 'c1' },
    path: '/gateway/v2/classify',
    headers: { 'lasso-api-key': apiKey, 'lasso-conversation-id': 'c1' },
    body: { messages: [{ role: 'user', content: question }] },
    passing: { deputies: { jailbreak: false }, violations_detected: false },
    failing: { deputies: { jailbreak: true }, violations_detected: true },
    findings: ['jailbreak'],
  },
  {
    id: 'pangea.pii',
    path: '/v1/redact_structured',
    headers: bearer,
    body: { data: [question] },
    passing: { result: { count: 0 } },
    failing: { result: { count: 1, redacted_data: ['<PERSON>'] } },
    findings: ['pii'],
  },
  {
    id: 'pangea.textGuard',
    parameters: { recipe: 'prompt' },
    path: '/v1beta/text/guard',
    headers: bearer,
    body: { text: question, recipe: 'prompt' },
    passing: { result: { findings: { malicious_count: 0 } } },
    failing: { result: { findings: { prompt_injection_count: 1 } } },
    findings: ['prompt_injection'],
  },
  patronus('phi', { evaluator: 'phi' }, false),
  patronus('pii', { evaluator: 'pii' }, false),
  patronus('toxicity', { evaluator: 'toxicity' }),
  patronus('isConcise', judge('patronus:is-concise')),
  patronus('isHelpful', judge('patronus:is-helpful')),
  patronus('isPolite', judge('patronus:is-polite')),
  patronus('noApologies', judge('patronus:no-apologies')),
  patronus('noGenderBias', judge('patronus:no-gender-bias')),
  patronus('noRacialBias', judge('patronus:no-racial-bias')),
  patronus('retrievalAnswerRelevance', { evaluator: 'answer-relevance' }),
  {
    ...patronus('custom', { evaluator: 'lynx', criteria: 'mine:own' }),
    parameters: { profile: 'lynx:mine:own' },
  },
  pillar('scanPrompt', 'prompt', false),
  pillar('scanResponse', 'response', true),
  {
    ...promptfoo(
      'guard',
      { categories: { jailbreak: false } },
      { categories: { jailbreak: true } },
    ),
    findings: ['jailbreak'],
  },
  promptfoo('harm', { flagged: false }, { flagged: true }),
  promptfoo('pii', { flagged: false }, { flagged: true }),
  promptSecurity('protectPrompt', 'prompt', false),
  promptSecurity('protectResponse', 'response', true),
  qualifire('contentModeration', { content_moderation_check: true }),
  qualifire('pii', { pii_check: true }, true),
  qualifire('promptInjections', { prompt_injections: true }),
  qualifire('grounding', { grounding_check: true, grounding_mode: 'balanced' }, true),
  qualifire('hallucinations', { hallucinations_check: true, hallucinations_mode: 'speed' }, true, {
    mode: 'speed',
  }),
  qualifire('policy', { assertions: ['no discounts'], assertions_mode: 'balanced' }, false, {
    policies: ['no discounts'],
  }),
  qualifire(
    'toolUseQuality',
    {
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content: answer },
      ],
      available_tools: [],
      tool_selection_quality_check: true,
      tsq_mode: 'balanced',
    },
    true,
  ),
  {
    id: 'sydelabs.sydeguard',
    parameters: { prompt_injection_threshold: 0.7 },
    path: '/api/v1/guard/generate-score',
    headers: { 'x-api-key': apiKey },
    body: { prompt: question },
    passing: scores(0.6),
    failing: scores(0.8),
    findings: ['PROMPT_INJECT'],
  },
  {
    id: 'walledai.walledprotect',
    parameters: { pii_list: ['Address'] },
    path: '/v1/walled-protect',
    headers: { 'x-api-key': apiKey },
    body: {
      text: question,
      generic_safety_check: true,
      greetings_list: ['Casual & Friendly'],
      pii_list: ['Address'],
      compliance_list: [],
    },
    passing: { data: { safety: [{ isSafe: true }] } },
    failing: { data: { safety: [{ isSafe: false }] } },
    findings: ['unsafe'],
  },
  {
    id: 'zscaler-ai-guard.zscalerprotect',
    parameters: { policyId: 760 },
    path: '/v1/detection/execute-policy',
    headers: bearer,
    body: { policyId: 760, direction: 'IN', content: question },
    passing: { action: 'ALLOW', detectorResponses: { toxicity: { triggered: false } } },
    failing: { action: 'BLOCK', detectorResponses: { toxicity: { triggered: true } } },
    findings: ['toxicity'],
  },
];

beforeAll(async () => {
  service = await startService(() => ({}));
});

beforeEach(() => {
  service.arrivals.length = 0;
  bench = openBench();
});

afterAll(() => service[Symbol.asyncDispose]());

const run = (
  { id, parameters = {}, credentials = { apiKey }, isOutput = false }: PartnerCase,
  reply: object,
) => {
  service.script = () => reply;
  const check = { id, parameters: { endpoint: service.url, credentials, ...parameters } };
  return bench.judge(check, chat(question), isOutput ? answered(answer) : {}, { deny: true });
};

describe.each(cases.map((one) => [one.id, one] as const))('%s', (_, one) => {
  it('sends the published request, and passes or fails by the response', async () => {
    const passed = await run(one, one.passing);
    expect(passed).toMatchObject({ verdict: true, error: undefined });
    const [{ method, path, headers, body }] = service.arrivals as [LocalService['arrivals'][0]];
    expect({ method, path }).toEqual({ method: 'POST', path: one.path });
    expect(headers).toMatchObject(one.headers);
    expect(body).toEqual(one.body);
    bench = openBench();
    const failed = await run(one, one.failing);
    expect(failed).toMatchObject({ verdict: false, isDenied: true, error: undefined });
    expect(failed.data).toMatchObject({ data: { findings: one.findings ?? [] } });
    expect(failed.results).not.toContain(apiKey);
  });

  it.each([[{}], [{ results: [] }], [{ status: 'maybe', action: 'maybe', result: {} }]])(
    'gives no verdict by the response %j',
    async (reply) => {
      const judged = await run(one, reply);
      expect(judged.isDenied).toBe(true);
      expect(judged.error).toMatch(/ returned a response without a valid /);
    },
  );

  it('gives no verdict without its key, if it has one', async () => {
    const judged = await run({ ...one, credentials: {} }, one.passing);
    const needsKey = Object.keys(one.headers).length > 0;
    expect(judged.isDenied).toBe(needsKey);
    if (needsKey) expect(judged.error).toBe('the check has no credentials.apiKey');
  });
});

describe('the catalogue', () => {
  it('has a case for every partner service', () => {
    const others = /^(gatewright|panw|bedrock|azure|mistral|portkey)/;
    const partners = Object.keys(remoteCheckKinds).filter((id) => !others.test(id));
    expect(cases.map(({ id }) => id).toSorted()).toEqual(partners.toSorted());
  });

  it('contains no check that is refused', () => {
    expect(Object.keys(refusedChecks).filter((id) => Object.hasOwn(remoteCheckKinds, id))).toEqual(
      [],
    );
  });
});

describe('a partner that changes texts', () => {
  it.each([
    [
      'pangea.pii',
      { redact: true },
      { apiKey },
      { result: { count: 1, redacted_data: ['the <X>'] } },
      'the <X>',
    ],
    [
      'promptsecurity.protectPrompt',
      { redact: true },
      { apiKey },
      { result: { prompt: { action: 'modify', modified_text: 'the ***' } } },
      'the ***',
    ],
    [
      'f5-guardrails.scan',
      { redact: true },
      { apiKey },
      { result: { outcome: 'redacted' }, redactedInput: 'the #' },
      'the #',
    ],
    [
      'crowdstrike-aidr.guardChatCompletions',
      {},
      { apiKey },
      {
        status: 'Success',
        result: {
          blocked: false,
          transformed: true,
          guard_output: { messages: [{ role: 'user', content: 'the @' }] },
        },
      },
      'the @',
    ],
    [
      'acuvity.scan',
      { pii: true, pii_redact: true, pii_categories: ['person'] },
      { apiKey },
      { extractions: [{ data: 'the XXX', PIIs: { person: 1 } }] },
      'the XXX',
    ],
  ])('%s', async (id, parameters, credentials, reply, changed) => {
    const one = { id, parameters, credentials } as unknown as PartnerCase;
    expect(await run(one, reply)).toMatchObject({ verdict: true, texts: [changed] });
  });

  it('fails instead where the check does not ask for changes', async () => {
    const reply = { result: { outcome: 'redacted' }, redactedInput: 'x' };
    const one = { id: 'f5-guardrails.scan' } as unknown as PartnerCase;
    expect(await run(one, reply)).toMatchObject({ verdict: false, texts: [question] });
  });
});

describe('the address of a partner', () => {
  const failsWith = async (id: string, credentials: object) => {
    const check = { id, parameters: { credentials } };
    return (await bench.judge(check, chat('x'))).error;
  };

  it('is in the key of Acuvity, and must be one that may be called', async () => {
    const claims = { opaque: { 'apex-url': 'http://169.254.169.254' } };
    const token = `e.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
    expect(await failsWith('acuvity.scan', { apiKey: token })).toMatch(/cloud metadata/);
    expect(await failsWith('acuvity.scan', { apiKey: 'no token' })).toMatch(/no token of Acuvity/);
  });

  it.each([
    ['pangea.textGuard', { apiKey, domain: 'evil.example/path?' }],
    ['promptsecurity.protectPrompt', { apiKey, apiDomain: 'a@b' }],
    ['javelin.guardrails', { apiKey, application: 'a', domain: 'x y' }],
  ])('is only a host in the credentials of %s', async (id, credentials) => {
    expect(await failsWith(id, credentials)).toMatch(/with the name of a host$/);
  });
});
