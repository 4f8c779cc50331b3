/** Knows what a caller gets of an answer that guardrails have judged: its texts as they left them, their results, or a refusal. */
import type { AnsweredForm } from '../../guardrails/answer-passages.ts';
import type { HookResult, Judgement } from '../../guardrails/evaluate.ts';
import { type Passage, withTexts } from '../../guardrails/passages.ts';
import { type StreamAnswer, streamAnswer } from '../../guardrails/stream-answer.ts';
import { membersOf, withMembers } from '../../model/json-object.ts';
import type { GuardrailVerdict } from '../../model/request-log.ts';
import type { AnswerHeaders } from '../../upstream/call.ts';
import { type Metered, meteredNothing } from '../metering/meter.ts';
import type { GatewayErrorForm } from '../transfer/gateway-error.ts';
import { isEventStream } from '../transfer/relay.ts';

/** An answer as guardrails have left it. */
export interface GuardedAnswer {
  readonly status: number;
  /** Of the provider; those that tell of its body are set anew. */
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
  readonly metered: Metered;
  /** In dollars; null where nobody knows it. */
  readonly cost: number | null;
  /** What the provider answered; null where it was not asked. */
  readonly providerStatus: number | null;
}

/** An answer that a guardrail failed and let pass. */
export const failedStatus = 246;
const deniedStatus = 446;

/** What of an answer can be judged; null for one that holds no text. */
export interface Readable {
  readonly json: Record<string, unknown>;
  /** Null for an answer that is no stream. */
  readonly stream: StreamAnswer | null;
}

export function readable(
  form: AnsweredForm | null,
  headers: AnswerHeaders,
  body: Buffer,
): Readable | null {
  if (isEventStream(headers)) {
    if (form === null) return null;
    const stream = streamAnswer(form, body);
    return stream.isKnown ? { json: stream.json, stream } : null;
  }
  const json = objectOf(body);
  return json === null ? null : { json, stream: null };
}

/** Null where none judged. */
export function verdictOf(...judgements: readonly Judgement[]): GuardrailVerdict | null {
  if (judgements.every(({ results }) => results.length === 0)) return null;
  if (judgements.some(({ isDenied }) => isDenied)) return 'denied';
  return judgements.every(({ passes }) => passes) ? 'passed' : 'failed';
}

/** Of all guardrails of a call, as answers carry them. */
function resultsOf(before: readonly HookResult[], after: readonly HookResult[]) {
  return { hook_results: { before_request_hooks: before, after_request_hooks: after } };
}

/** The last event of a stream, for callers who take what OpenAI does not have. */
export function trailerOf(before: readonly HookResult[], after: readonly HookResult[]): Buffer {
  return Buffer.from(`data: ${JSON.stringify(resultsOf(before, after))}\n\n`);
}

/** The body with other texts and with the results. */
export function judgedBody(
  body: Buffer,
  { json, stream }: Readable,
  passages: readonly Passage[],
  { input, output, isStrict }: Judgements,
): Buffer {
  const texts = output.passages.map(({ text }) => text);
  if (stream !== null) {
    const isChanged = texts.some((text, at) => text !== passages[at]!.text);
    const events = isChanged ? stream.rewritten(texts) : body;
    return isStrict ? events : Buffer.concat([events, trailerOf(input.results, output.results)]);
  }
  const members = membersOf(body);
  if (members === null) return Buffer.from(JSON.stringify(withTexts(json, passages, texts)));
  const changes = textChanges(json, passages, texts) ?? new Map<string, unknown>();
  const { hook_results: results } = resultsOf(input.results, output.results);
  return withMembers(body, members, changes.set('hook_results', results));
}

export interface Judgements {
  readonly input: Judgement;
  readonly output: Judgement;
  /** A stream holds nothing but what OpenAI has. */
  readonly isStrict: boolean;
}

/** The members at the top that differ with other texts; null where none does. */
export function textChanges(
  json: Readonly<Record<string, unknown>>,
  passages: readonly Passage[],
  texts: readonly string[],
): Map<string, unknown> | null {
  const changed = passages.filter(({ text }, at) => text !== texts[at]);
  if (changed.length === 0) return null;
  const whole = withTexts(json, passages, texts);
  return new Map(changed.map(({ path: [top] }) => [String(top), whole[String(top)]]));
}

/** In place of an answer, or of a call. */
export function refusal(
  form: GatewayErrorForm,
  before: readonly HookResult[],
  after: readonly HookResult[],
  used: Pick<GuardedAnswer, 'metered' | 'cost' | 'providerStatus'> = nothingUsed,
): GuardedAnswer {
  const message = 'A guardrail refuses this: one of its checks has failed';
  const error = { message, type: 'hooks_failed', param: null, code: null };
  const told = form === 'anthropic' ? { type: 'error', error } : { error };
  const body = Buffer.from(JSON.stringify({ ...told, ...resultsOf(before, after) }));
  return { ...used, status: deniedStatus, headers: { 'content-type': 'application/json' }, body };
}

const nothingUsed = { metered: meteredNothing, cost: 0, providerStatus: null };

function objectOf(body: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
