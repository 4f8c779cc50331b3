/** Runs the stages of one target: resolve, guard the request, admit, call, judge the response. */
import type { CheckSubject } from '../../guardrails/check.ts';
import { type Judgement, verdictOf } from '../../guardrails/evaluate.ts';
import { type Guardrail, isObserving } from '../../guardrails/guardrail.ts';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import type { UnjudgedResponse } from '../../model/endpoints/unjudged-response.ts';
import { findDuplicateKeys } from '../../model/json/json-object.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { run } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import { ConfiguredRequests } from '../guardrails/configured-requests.ts';
import { type GuardedRequests, judgeCall, subjectOf } from '../guardrails/guarded-request.ts';
import {
  bodyWithVerdict,
  denialResponse,
  failedStatus,
  type ReadableResponse,
  readableResponse,
  trailerOf,
} from '../guardrails/guarded-response.ts';
import type { CallGuardrails } from '../guardrails/guardrails.ts';
import { judgeResponse } from '../guardrails/judge-response.ts';
import type { TextForms } from '../guardrails/text-forms.ts';
import { isWindowed, WindowedStream } from '../guardrails/windowed-stream.ts';
import { noUsage } from '../metering/meter.ts';
import { findStoredTexts } from '../references/stored-texts.ts';
import { isLong } from '../transfer/changed-body.ts';
import { decodeResponse } from '../transfer/content-encoding.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { checkCallsOf } from './checks/check-calls.ts';
import { semanticLookupOf } from './embed-question.ts';
import { callHedged, type RequestFor } from './hedging/hedged-call.ts';
import {
  deniedOutcome,
  failedOutcome,
  judgedOutcome,
  type LiveOutcome,
  type StreamObserver,
  type TargetOutcome,
} from './outcome.ts';
import { requireJudgeable } from './raw-paths.ts';
import type { CallContext } from './request-context.ts';
import { isFailure, type ReadResponse, readWholeResponse } from './whole-response.ts';

/** Obtains the outcome for a request that guardrails allow; they may have changed its body. */
type GetOutcome = (exchange: Exchange, requestFor: RequestFor) => Promise<TargetOutcome>;

/** Guardrails for the response, and the judgement of its request. */
interface ResponseGuards {
  readonly output: readonly Guardrail[];
  readonly input: Judgement;
  /** A stream contains only what OpenAI's format defines. */
  readonly isStrict: boolean;
}

/** @throws GatewayError when the target cannot be called or its limits reject the call */
export function callTarget(context: CallContext, leaf: ConfigLeaf): Promise<TargetOutcome> {
  return guardTarget(context, leaf, (exchange, requestFor) => {
    const semantic = semanticLookupOf(context, leaf, exchange);
    return leaf.hedge === null
      ? context.calls.call(leaf, exchange, semantic)
      : callHedged(context, leaf, exchange, semantic, requestFor);
  });
}

/** {@link callTarget} for a response that does not come from calling the target. */
export function guardTarget(
  context: CallContext,
  leaf: ConfigLeaf,
  getOutcome: GetOutcome,
): Promise<TargetOutcome> {
  const { services, exchange } = context;
  const guardrails = services.guardrails.of(exchange.key, leaf.settings.guardrails);
  if (guardrails === null) return getOutcome(exchange, async () => exchange);
  requireJudgeable(exchange);
  return guard(context, leaf, guardrails, getOutcome);
}

async function guard(
  context: CallContext,
  leaf: ConfigLeaf,
  callGuardrails: CallGuardrails | Promise<CallGuardrails>,
  getOutcome: GetOutcome,
): Promise<TargetOutcome> {
  const guardrails = await callGuardrails;
  const requests = await requestsOf(context, leaf);
  const { forms } = requests;
  const input = await requests.thatJudge(guardrails.input);
  const output = forms.response === null ? [] : guardrails.output;
  const denied =
    (await refuseStored(context, leaf, guardrails.input, forms)) ??
    (await refuseUnjudged(context, leaf, guardrails.output, forms));
  if (denied !== null) return denied;
  if (input.length + output.length === 0 && !forms.isModelRequest) {
    return getOutcome(context.exchange, async () => context.exchange);
  }
  const judged = await judgeRequest(context, leaf, guardrails.input);
  let { judgement } = judged;
  context.draft.addVerdicts(judgement);
  if (judgement.isDenied) {
    const { errorForm } = context.exchange;
    return deniedOutcome(judged.target, denialResponse(errorForm, judgement.results, []));
  }
  let ofSecond = judgement;
  const outcome = await getOutcome(judged.exchange, async (second) => {
    const judgedSecond = await judgeRequest(context, second, guardrails.input);
    ofSecond = judgedSecond.judgement;
    return ofSecond.isDenied ? null : judgedSecond.exchange;
  });
  if (outcome.isHedged === true) {
    judgement = ofSecond;
    context.draft.addVerdicts(judgement);
  }
  const guards = { output, input: judgement, isStrict: leaf.settings.isStrict };
  return judge(context, forms, { ...outcome, verdict: verdictOf(judgement) }, guards);
}

/** The request as the parameters of a target leave it. */
function requestsOf(context: CallContext, leaf: ConfigLeaf): Promise<GuardedRequests> {
  context.guardedRequests ??= new ConfiguredRequests(context.exchange, checkCallsOf(context));
  return context.guardedRequests.of(leaf.settings);
}

/** Judges the request as a target would receive it. */
async function judgeRequest(
  context: CallContext,
  leaf: ConfigLeaf,
  guardrails: readonly Guardrail[],
) {
  const requests = await requestsOf(context, leaf);
  const input = await requests.thatJudge(guardrails);
  const target = await context.calls.targetOf(leaf, requests.exchange);
  const judged = await requests.judge(leaf.settings.guardrails, input, target);
  return { ...judged, target };
}

const unjudgedReasons: Readonly<Record<UnjudgedResponse, string>> = {
  file: 'files are not read',
  numbers: 'the response has numbers in place of texts',
  sound: 'the response is sound',
};

/**
 * Refuses a request for a response that guardrails cannot judge; null if none does. Files are refused by every guardrail
 * that denies what it cannot judge, sound and numbers only by those that fail closed.
 */
function refuseUnjudged(
  context: CallContext,
  leaf: ConfigLeaf,
  output: readonly Guardrail[],
  { endpoint, unjudged }: TextForms,
): Promise<TargetOutcome | null> | null {
  if (unjudged === null) return null;
  const guardrails = unjudged === 'file' ? output : output.filter(({ failsClosed }) => failsClosed);
  const unreadable = unjudgedReasons[unjudged];
  return refuseUnread(context, leaf, guardrails, { endpoint, side: 'output', unreadable });
}

/** Refuses a request whose model also receives texts that a provider stores; only guardrails that fail closed do. */
async function refuseStored(
  context: CallContext,
  leaf: ConfigLeaf,
  input: readonly Guardrail[],
  { endpoint }: TextForms,
): Promise<TargetOutcome | null> {
  const guardrails = input.filter(({ failsClosed }) => failsClosed);
  if (guardrails.length === 0) return null;
  const { exchange } = context;
  const stored = await run(findStoredTexts(exchange), isLong(exchange.body));
  if (stored === null) return null;
  const unreadable = `the texts that ${stored} names are stored by the provider`;
  return refuseUnread(context, leaf, guardrails, { endpoint, side: 'input', unreadable });
}

interface UnreadTexts extends Pick<CheckSubject, 'side' | 'endpoint'> {
  readonly unreadable: string;
}

async function refuseUnread(
  context: CallContext,
  leaf: ConfigLeaf,
  guardrails: readonly Guardrail[],
  { endpoint, side, unreadable }: UnreadTexts,
): Promise<TargetOutcome | null> {
  if (guardrails.length === 0) return null;
  const { calls, draft, exchange } = context;
  const target = await calls.targetOf(leaf, exchange);
  const subject = subjectOf(exchange, endpoint, target, checkCallsOf(context));
  const unread = { side, answer: null, passages: [], lastCount: 0, unreadable } as const;
  const judgement = await judgeCall(guardrails, { ...subject, ...unread }, exchange.now);
  const { isDenied, results } = judgement;
  draft.addObserved(judgement);
  if (!isDenied) return null;
  const [before, after] = side === 'input' ? [results, []] : [[], results];
  return deniedOutcome(target, denialResponse(exchange.errorForm, before, after));
}

/** Passes on a stream that no guardrail judges as it arrives; reads everything else completely first. */
async function judge(
  context: CallContext,
  forms: TextForms,
  outcome: TargetOutcome,
  guards: ResponseGuards,
): Promise<TargetOutcome> {
  if (outcome.status < 200 || outcome.status > 299) return outcome;
  switch (outcome.kind) {
    case 'failed':
      return outcome;
    case 'judged':
    case 'local':
      return judgeRead(context, forms, outcome, outcome.response, guards);
    case 'cached': {
      const { contentType, body } = outcome.response;
      const headers = { 'content-type': contentType };
      const read = { headers, body, metered: noUsage, cost: 0 };
      return judgeRead(context, forms, outcome, read, guards);
    }
    case 'live':
      return judgeLive(context, forms, outcome, guards);
  }
}

async function judgeLive(
  context: CallContext,
  forms: TextForms,
  outcome: LiveOutcome,
  guards: ResponseGuards,
): Promise<TargetOutcome> {
  const isPassedOn = isEventStream(outcome.call.headers) && guards.output.every(isObserving);
  if (isPassedOn) {
    const { results, passes } = guards.input;
    const trailer = guards.isStrict ? null : trailerOf(results, []);
    const observer =
      guards.output.length === 0 ? null : observerOf(context, forms, outcome, guards);
    return { ...outcome, status: passes ? outcome.status : failedStatus, trailer, observer };
  }
  const deciding = guards.output.filter((one) => !isObserving(one));
  if (isWindowed(deciding, outcome.call.headers)) {
    return windowedOutcome(context, forms, outcome, guards, deciding);
  }
  const read = await readWholeResponse(outcome, {
    calls: context.calls,
    caller: context.caller,
    onBytes: null,
    outlivesCaller: context.exchange.trackedCreation !== undefined,
  });
  return isFailure(read) ? read : judgeRead(context, forms, outcome, read, guards);
}

/** A stream that is judged while it is sent; guardrails that observe judge what was sent. */
function windowedOutcome(
  context: CallContext,
  forms: TextForms,
  outcome: LiveOutcome,
  guards: ResponseGuards,
  guardrails: readonly Guardrail[],
): LiveOutcome {
  const { exchange } = context;
  const { input, isStrict } = guards;
  const observing = guards.output.filter(isObserving);
  const windowed = new WindowedStream({
    guardrails,
    forms,
    subject: subjectOf(exchange, forms.endpoint, outcome.target, checkCallsOf(context)),
    status: outcome.status,
    now: exchange.now,
    errorForm: exchange.errorForm,
    input,
    hasTrailer: !isStrict,
  });
  const observer =
    observing.length === 0
      ? null
      : observerOf(context, forms, outcome, { ...guards, output: observing });
  return {
    ...outcome,
    status: input.passes ? outcome.status : failedStatus,
    trailer: null,
    observer,
    windowed,
  };
}

/** Judges what the caller has received of a stream, for the log. */
function observerOf(
  context: CallContext,
  forms: TextForms,
  { status, target, call }: LiveOutcome,
  { output: guardrails }: ResponseGuards,
): StreamObserver {
  const { draft, exchange } = context;
  const subject = subjectOf(exchange, forms.endpoint, target, checkCallsOf(context));
  return async (events) => {
    const decoded = events === null ? null : decodeResponse(call.headers, events);
    const readable = decoded && readableResponse(forms.response, decoded.headers, decoded.body);
    const about = { subject, status, now: exchange.now };
    const judged = readable
      ? await judgeResponse(guardrails, forms, {
          ...about,
          json: readable.json,
          toolCalls: readable.stream?.toolCalls,
        })
      : null;
    draft.addObserved(judged?.judgement ?? (await judgeUnread(guardrails, about)));
  };
}

function judgeUnread(
  guardrails: readonly Guardrail[],
  { subject, now }: { readonly subject: ReturnType<typeof subjectOf>; readonly now: number },
): Promise<Judgement> {
  const unread = { passages: [], lastCount: 0, unreadable: 'the stream cannot be read' };
  return judgeCall(guardrails, { ...subject, ...unread, side: 'output', answer: null }, now);
}

async function judgeRead(
  context: CallContext,
  forms: TextForms,
  outcome: TargetOutcome,
  read: ReadResponse,
  { output: guardrails, input, isStrict }: ResponseGuards,
): Promise<TargetOutcome> {
  const { draft, exchange, calls } = context;
  const { headers, body, metered, cost } = read;
  const { status: providerStatus, target } = outcome;
  const isEncoded = headers['content-encoding'] !== undefined;
  const readable = isEncoded ? null : await unambiguousResponse(forms, read);
  const judged =
    readable === null
      ? null
      : await judgeResponse(guardrails, forms, {
          subject: subjectOf(exchange, forms.endpoint, target, checkCallsOf(context)),
          status: providerStatus,
          json: readable.json,
          toolCalls: readable.stream?.toolCalls,
          now: exchange.now,
        });
  if (readable === null || judged === null) {
    if (guardrails.some((one) => !isObserving(one) && !one.passesUnjudged)) {
      calls.storing.forget();
      return failedOutcome(outcome, unreadable(), metered);
    }
    const response = { status: providerStatus, headers, body, metered, cost, providerStatus };
    return judgedOutcome(outcome, response, outcome.verdict);
  }
  const { passages, judgement } = judged;
  draft.addVerdicts(judgement);
  const verdict = verdictOf(input, judgement);
  if (judgement.isDenied) {
    calls.storing.forget();
    const used = { metered, cost, providerStatus };
    const denied = denialResponse(exchange.errorForm, input.results, judgement.results, used);
    return judgedOutcome(outcome, denied, verdict);
  }
  const hasPassed = input.passes && judgement.passes;
  const isAnnotated = forms.isModelRequest || verdict !== null;
  const judgements = { input, output: judgement, isStrict };
  const response = {
    status: hasPassed ? providerStatus : failedStatus,
    headers,
    body: isAnnotated ? bodyWithVerdict(body, readable, passages, judgements) : body,
    metered,
    cost,
    providerStatus,
  };
  return judgedOutcome(outcome, response, verdict);
}

/** Null for a response that contains no text, or repeats a member, of which the caller could read another one. */
async function unambiguousResponse(
  { response }: TextForms,
  { headers, body }: ReadResponse,
): Promise<ReadableResponse | null> {
  const readable = readableResponse(response, headers, body);
  if (readable === null || readable.stream !== null) return readable;
  return (await run(findDuplicateKeys(body), isLong(body))) ? null : readable;
}

function unreadable(): GatewayError {
  const message = 'The response of the provider cannot be read, so guardrails cannot check it';
  return new GatewayError('answer_unreadable', message);
}
