/** Builds what a caller receives for a response that guardrails judged: the changed texts, the results, or a refusal. */

import type { HookResult, Judgement } from '../../guardrails/evaluate.ts';
import type { ResponseForm } from '../../guardrails/texts/answer-passages.ts';
import { type Passage, replaceTexts, writeTexts } from '../../guardrails/texts/passages.ts';
import { type StreamAnswer, streamAnswer } from '../../guardrails/texts/stream-answer.ts';
import { locateMembers, withMembers } from '../../model/json/json-object.ts';
import { readJsonObject } from '../../model/json/read-object.ts';
import { rpcStatus } from '../../model/services/rpc-status.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { runAtOnce, type Slices } from '../../slices.ts';
import type { ProviderHeaders } from '../../upstream/call.ts';
import { type MeteredUsage, noUsage } from '../metering/meter.ts';
import type { GatewayErrorForm } from '../transfer/gateway-error.ts';

/** A complete response, as guardrails left it. */
export interface GuardedResponse {
  readonly status: number;
  /** Headers of the provider; those that describe the body are replaced. */
  readonly headers: ProviderHeaders;
  readonly body: Buffer;
  readonly metered: MeteredUsage;
  /** Dollars; null when unknown. */
  readonly cost: number | null;
  /** Null when the provider was not called. */
  readonly providerStatus: number | null;
}

/** Status of a response that failed a guardrail which does not deny. */
export const failedStatus = 246;
const deniedStatus = 446;

/** The part of a response that guardrails can judge. */
export interface ReadableResponse {
  readonly json: Record<string, unknown>;
  /** Null when the response is not a stream. */
  readonly stream: StreamAnswer | null;
}

/** Null for a response that contains no text. */
export function readableResponse(
  form: ResponseForm | null,
  headers: ProviderHeaders,
  body: Buffer,
): ReadableResponse | null {
  if (isEventStream(headers)) {
    if (form === null) return null;
    const stream = streamAnswer(form, body);
    return stream.isKnown ? { json: stream.json, stream } : null;
  }
  const json = readJsonObject(body.toString('utf8'));
  return json === null ? null : { json, stream: null };
}

/** The results of all guardrails of a call, as responses contain them. */
function resultsOf(before: readonly HookResult[], after: readonly HookResult[]) {
  return { hook_results: { before_request_hooks: before, after_request_hooks: after } };
}

/** The last event of a stream, for callers that accept events outside OpenAI's format. */
export function trailerOf(before: readonly HookResult[], after: readonly HookResult[]): Buffer {
  return Buffer.from(`data: ${JSON.stringify(resultsOf(before, after))}\n\n`);
}

/** The body with the changed texts and the results of the guardrails. */
export function bodyWithVerdict(
  body: Buffer,
  { json, stream }: ReadableResponse,
  passages: readonly Passage[],
  { input, output, isStrict }: Judgements,
): Buffer {
  const texts = output.passages.map(({ text }) => text);
  if (stream !== null) {
    const isChanged = texts.some((text, at) => text !== passages[at]!.text);
    const events = isChanged ? stream.rewrite(texts) : body;
    return isStrict ? events : Buffer.concat([events, trailerOf(input.results, output.results)]);
  }
  const members = locateMembers(body);
  if (members === null) return Buffer.from(JSON.stringify(replaceTexts(json, passages, texts)));
  const changes = runAtOnce(textChanges(json, passages, texts)) ?? new Map<string, unknown>();
  const { hook_results: results } = resultsOf(input.results, output.results);
  return withMembers(body, members, changes.set('hook_results', results));
}

export interface Judgements {
  readonly input: Judgement;
  readonly output: Judgement;
  /** A stream contains only what OpenAI's format defines. */
  readonly isStrict: boolean;
}

/** The top-level members that change with `texts`; null when none does. */
export function* textChanges(
  json: Readonly<Record<string, unknown>>,
  passages: readonly Passage[],
  texts: readonly string[],
): Slices<Map<string, unknown> | null> {
  const changed = passages.filter(({ text }, at) => text !== texts[at]);
  if (changed.length === 0) return null;
  yield;
  const whole = yield* writeTexts(json, passages, texts);
  return new Map(changed.map(({ path: [top] }) => [String(top), whole[String(top)]]));
}

/** The response to a request or response that a guardrail denied. */
export function denialResponse(
  form: GatewayErrorForm,
  before: readonly HookResult[],
  after: readonly HookResult[],
  used: Pick<GuardedResponse, 'metered' | 'cost' | 'providerStatus'> = nothingUsed,
): GuardedResponse {
  const message = 'A guardrail rejected this: at least one of its checks failed';
  const error = { message, type: 'hooks_failed', param: null, code: null };
  const body = Buffer.from(
    JSON.stringify({ ...denialIn(form, error), ...resultsOf(before, after) }),
  );
  const { metered, cost, providerStatus } = used;
  const headers = { 'content-type': 'application/json' };
  return { status: deniedStatus, headers, body, metered, cost, providerStatus };
}

function denialIn(form: GatewayErrorForm, error: { readonly message: string }) {
  if (form === 'anthropic') return { type: 'error', error };
  if (form !== 'gemini') return { error };
  const { message } = error;
  return { error: { code: deniedStatus, message, status: rpcStatus(deniedStatus) } };
}

const nothingUsed = { metered: noUsage, cost: 0, providerStatus: null };
