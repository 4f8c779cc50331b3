/** Verifies that an answer which does not correspond to its request is no verdict. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type CheckBench,
  chat,
  type LocalService,
  openBench,
  startService,
} from '../../../support/guardrails/local-service.ts';

let service: LocalService;
let bench: CheckBench;

beforeAll(async () => {
  service = await startService(() => ({}));
});

beforeEach(() => {
  service.arrivals.length = 0;
  bench = openBench();
});

afterAll(() => service[Symbol.asyncDispose]());

const apiKey = 'canary-key-of-the-check';
const azure = { resourceName: 'res', apiKey };

/** A check, an answer to its request that passes, and answers that belong to another request. */
interface MismatchCase {
  readonly id: string;
  readonly parameters: object;
  readonly passing: object;
  readonly mismatched: Readonly<Record<string, object>>;
}

const flags = { categories: { hate: false } };
const analysed = { categoriesAnalysis: [{ category: 'Hate', severity: 0 }] };
const document = (id: string) => ({ id, entities: [] });
const airs = { action: 'allow', tr_id: 'trace-1', profile_name: 'strict', profile_id: 'p1' };
const aws = { awsRegion: 'eu-central-1', apiKey };
const covered = (guarded: number) => ({
  action: 'NONE',
  assessments: [],
  guardrailCoverage: { textCharacters: { guarded, total: 6 } },
});
const evaluated = { error_message: null, evaluation_result: { pass: true } };
const transformed = (...contents: readonly string[]) => ({
  status: 'Success',
  result: {
    blocked: false,
    transformed: true,
    guard_output: { messages: contents.map((content) => ({ role: 'user', content })) },
  },
});

const cases: readonly MismatchCase[] = [
  {
    id: 'portkey.moderateContent',
    parameters: { credentials: { apiKey }, categories: ['hate'] },
    passing: { results: [flags] },
    mismatched: { 'no result': { results: [] }, 'two results': { results: [flags, flags] } },
  },
  {
    id: 'azure.contentSafety',
    parameters: { credentials: azure, categories: ['Hate'], blocklistNames: ['words'] },
    passing: { ...analysed, blocklistsMatch: [] },
    mismatched: { 'no blocklists': analysed, 'another form': { ...analysed, blocklistsMatch: {} } },
  },
  {
    id: 'azure.pii',
    parameters: { credentials: azure },
    passing: { results: { errors: [], documents: [document('0')] } },
    mismatched: {
      'another id': { results: { errors: [], documents: [document('1')] } },
      'the same id twice': { results: { errors: [], documents: [document('0'), document('0')] } },
      'no document': { results: { errors: [], documents: [] } },
    },
  },
  {
    id: 'bedrock.guard',
    parameters: { credentials: aws, guardrailId: 'g', guardrailVersion: '1' },
    passing: covered(6),
    mismatched: {
      'a verdict on a part of the text': covered(5),
      'findings that contradict it': {
        action: 'NONE',
        assessments: [{ topicPolicy: { topics: [{ name: 'war', action: 'BLOCKED' }] } }],
      },
    },
  },
  {
    id: 'panw-prisma-airs.intercept',
    parameters: { credentials: { AIRS_API_KEY: apiKey }, profile_name: 'strict' },
    passing: airs,
    mismatched: {
      'the id of another request': { ...airs, tr_id: 'trace-2' },
      'another profile': { ...airs, profile_name: 'lax' },
    },
  },
  {
    id: 'panwPrismaAirs.intercept',
    parameters: { credentials: { AIRS_API_KEY: apiKey }, profile_id: 'p1' },
    passing: airs,
    mismatched: { 'another profile': { ...airs, profile_id: 'p2' } },
  },
  {
    id: 'promptfoo.pii',
    parameters: {},
    passing: { results: [{ flagged: false }] },
    mismatched: { 'two results': { results: [{ flagged: false }, { flagged: true }] } },
  },
  {
    id: 'patronus.pii',
    parameters: { credentials: { apiKey } },
    passing: { results: [evaluated] },
    mismatched: { 'two results': { results: [evaluated, evaluated] } },
  },
  {
    id: 'javelin.guardrails',
    parameters: { credentials: { apiKey, application: 'shop' } },
    passing: { assessments: [{ trustsafety: { request_reject: false } }] },
    mismatched: { 'an assessment of nothing': { assessments: [{}] } },
  },
  {
    id: 'crowdstrike-aidr.guardChatCompletions',
    parameters: { credentials: { apiKey } },
    passing: transformed('the @'),
    mismatched: {
      'two texts for one': transformed('the @', 'another'),
      'the same text as a changed one': transformed('a text'),
      'no word on changes': { status: 'Success', result: { blocked: false } },
    },
  },
  {
    id: 'pangea.pii',
    parameters: { credentials: { apiKey }, redact: true },
    passing: { result: { count: 1, redacted_data: ['the <X>'] } },
    mismatched: {
      'two texts for one': { result: { count: 1, redacted_data: ['the <X>', 'a text'] } },
      'the same text as a redacted one': { result: { count: 1, redacted_data: ['a text'] } },
    },
  },
  {
    id: 'promptsecurity.protectPrompt',
    parameters: { credentials: { apiKey }, redact: true },
    passing: { result: { prompt: { action: 'modify', modified_text: 'the ***' } } },
    mismatched: {
      'a change without a text': { result: { prompt: { action: 'modify' } } },
      'a verdict on the other side': { result: { response: { action: 'pass' } } },
    },
  },
  {
    id: 'f5-guardrails.scan',
    parameters: { credentials: { apiKey }, redact: true },
    passing: { result: { outcome: 'redacted' }, redactedInput: 'the #' },
    mismatched: {
      'the same text as a redacted one': {
        result: { outcome: 'redacted' },
        redactedInput: 'a text',
      },
    },
  },
  {
    id: 'acuvity.scan',
    parameters: {
      credentials: { apiKey },
      pii: true,
      pii_redact: true,
      pii_categories: ['person'],
    },
    passing: { extractions: [{ data: 'the XXX', PIIs: { person: 1 } }] },
    mismatched: {
      'two texts for one': { extractions: [{ data: 'a text' }, { data: 'another' }] },
      'the same text as a redacted one': {
        extractions: [{ data: 'a text', PIIs: { person: 1 } }],
      },
    },
  },
  {
    id: 'default.webhook',
    parameters: { webhookURL: 'set below', format: 'generic_guardrail_api' },
    passing: { action: 'GUARDRAIL_INTERVENED', texts: ['changed'] },
    mismatched: {
      'no text': { action: 'GUARDRAIL_INTERVENED', texts: [] },
      'two texts for one': { action: 'GUARDRAIL_INTERVENED', texts: ['changed', 'another'] },
    },
  },
];

const judge = ({ id, parameters }: MismatchCase, answer: object, params = chat('a text')) => {
  service.script = () => answer;
  const address =
    id === 'default.webhook' ? { webhookURL: service.url } : { endpoint: service.url };
  const check = { id, parameters: { ...parameters, ...address } };
  return bench.judge(check, params, {}, { deny: true });
};

describe.each(cases.map((one) => [one.id, one] as const))('%s', (_, one) => {
  it('has a verdict by the answer to its request', async () => {
    expect(await judge(one, one.passing)).toMatchObject({ isDenied: false, error: undefined });
  });

  it.each(Object.entries(one.mismatched))('has none by %s', async (_name, answer) => {
    const judged = await judge(one, answer);
    expect(judged.isDenied).toBe(true);
    expect(judged.error).toMatch(/ returned a response without a valid /);
  });

  it.each([
    ['an object', { message: 'overloaded' }],
    ['a text', 'overloaded'],
  ])('has none by %s that describes an error beside a verdict', async (_name, error) => {
    const judged = await judge(one, { ...one.passing, error });
    expect(judged.isDenied).toBe(true);
    expect(judged.error).toMatch(/ returned an error with status 200$/);
  });
});

describe('Azure Prompt Shields', () => {
  it('has a verdict only on as many documents as were sent', async () => {
    const shield = {
      id: 'azure.shieldPrompt',
      parameters: { credentials: azure },
    } as unknown as MismatchCase;
    const safe = { userPromptAnalysis: { attackDetected: false } };
    const request = { messages: [{ role: 'tool', tool_call_id: 'c', content: 'a result' }] };
    expect(await judge(shield, safe, request)).toMatchObject({ isDenied: true });
    const documentsAnalysis = [{ attackDetected: false }];
    const answer = { ...safe, documentsAnalysis };
    expect(await judge(shield, answer, request)).toMatchObject({ isDenied: false });
    expect(await judge(shield, answer)).toMatchObject({ isDenied: true });
  });
});

describe('Prisma AIRS', () => {
  const check = {
    id: 'panw-prisma-airs.intercept',
    parameters: { credentials: { AIRS_API_KEY: apiKey }, redact: true },
  } as unknown as MismatchCase;
  const blocked = { action: 'block', prompt_detected: { dlp: true } };

  it.each([
    ['the masked text of the other side', { response_masked_data: { data: 'a ****' } }],
    ['the text itself as a masked one', { prompt_masked_data: { data: 'a text' } }],
  ])('does not pass what it blocks by %s', async (_, more) => {
    expect(await judge(check, { ...blocked, ...more })).toMatchObject({ isDenied: true });
    const masked = { ...blocked, prompt_masked_data: { data: 'a ****' } };
    expect(await judge(check, masked, chat('a name'))).toMatchObject({
      isDenied: false,
      texts: ['a ****'],
    });
  });
});
