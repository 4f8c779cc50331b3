/** Sends a second request when the first has not begun to answer after a percentile of the target's latency. */
import type { ConfigLeaf, HedgeRule } from '../../../model/configs/config-tree.ts';
import { geminiPrefix } from '../../../model/endpoints/catalogue.ts';
import { conversePath } from '../../../model/services/bedrock-models.ts';
import { cohereEmbedPath, embeddingInvokePath } from '../../../model/services/retrieval-paths.ts';
import { monotonicMs } from '../../../monotonic.ts';
import { CallCut } from '../../../upstream/call.ts';
import type { Exchange } from '../../callers/exchange.ts';
import { statisticsKey } from '../../strategies/select-target.ts';
import type { MeasuredForm } from '../../strategies/target-statistics.ts';
import type { Caller } from '../../transfer/caller.ts';
import { discardResponse } from '../attempt.ts';
import { cancelledOutcome, type TargetOutcome } from '../outcome.ts';
import type { ProviderCalls } from '../provider-calls.ts';
import type { CallContext } from '../request-context.ts';
import type { SemanticLookup } from '../semantic-lookup.ts';
import { HedgedSide } from './hedged-side.ts';

/** Endpoints whose requests create nothing, so that two of them are harmless. */
const repeatablePaths: ReadonlySet<string> = new Set([
  '/chat/completions',
  '/completions',
  '/messages',
  '/responses',
  '/embeddings',
  '/moderations',
  '/rerank',
  conversePath,
  embeddingInvokePath,
  cohereEmbedPath,
]);

/** Whether two requests have no other effect than one; a stored answer is an object. */
function isRepeatable({ request, path, params, trackedCreation, unreadUpload }: Exchange): boolean {
  if (request.method !== 'POST' || trackedCreation !== undefined || unreadUpload !== undefined) {
    return false;
  }
  if (path.startsWith(geminiPrefix)) return true;
  if (path === '/responses') return params.store === false && params.background !== true;
  return repeatablePaths.has(path) && params.store !== true;
}

/** Returns the request for another target as guardrails leave it; null if they reject it there. */
export type RequestFor = (leaf: ConfigLeaf) => Promise<Exchange | null>;

/** A call of {@link callHedged}. */
interface HedgedRequest {
  readonly context: CallContext;
  readonly leaf: ConfigLeaf;
  readonly hedge: HedgeRule;
  readonly exchange: Exchange;
  readonly form: MeasuredForm;
  readonly requestFor: RequestFor;
}

/** @throws GatewayError when the target cannot be called or its limits reject the call */
export function callHedged(
  context: CallContext,
  leaf: ConfigLeaf,
  exchange: Exchange,
  semantic: SemanticLookup | null,
  requestFor: RequestFor,
): Promise<TargetOutcome> {
  const { calls, services, config } = context;
  const { hedge } = leaf;
  if (hedge === null || !isRepeatable(exchange)) return calls.call(leaf, exchange, semantic);
  const { targetStatistics: statistics } = services;
  const key = statisticsKey(config.mark, leaf);
  const form = exchange.params.stream === true ? 'stream' : 'whole';
  statistics.noteHedgeable(key, hedge.maxPercent);
  const usualMs = statistics.percentileOf(key, form, hedge.percentile);
  if (usualMs === null) return calls.call(leaf, exchange, semantic);
  const request = { context, leaf, hedge, exchange, form, requestFor } as const;
  return race(request, semantic, Math.max(usualMs, hedge.minMs));
}

async function race(
  request: HedgedRequest,
  semantic: SemanticLookup | null,
  afterMs: number,
): Promise<TargetOutcome> {
  const { context, leaf, exchange } = request;
  const { calls, caller } = context;
  const beganMs = monotonicMs();
  const first = new HedgedSide((side) => calls.call(leaf, exchange, semantic, side));
  const sides = [first];
  const stopWatching = cancelWithCaller(caller, sides, () => calls.lingerMs);
  try {
    await first.settledWithin(afterMs);
    if (first.isSettled || caller.isGone || !mayHedge(request)) return await first.result;
    const fork = calls.fork(exchange, caller);
    const second = new HedgedSide((side) => callSecond(request, fork, side));
    sides.push(second);
    return await firstAnswer(request, fork, first, second, beganMs);
  } finally {
    stopWatching();
  }
}

/** @throws CallCut when guardrails reject the request for the second target, or the first has answered meanwhile */
async function callSecond(
  { hedge: { target }, requestFor }: HedgedRequest,
  fork: ProviderCalls,
  side: Caller,
): Promise<TargetOutcome> {
  const exchange = await requestFor(target);
  if (exchange === null) throw new CallCut('a guardrail rejects the request for this target');
  if (side.isGone) throw new CallCut('another call has answered');
  return fork.call(target, exchange, null, side);
}

/** Whether the share of second requests and the breaker of their target permit one. */
function mayHedge({ context, leaf, hedge }: HedgedRequest): boolean {
  const { services, config } = context;
  if (services.breakers.isOpen(config.mark, hedge.target)) return false;
  return services.targetStatistics.takeHedge(statisticsKey(config.mark, leaf));
}

/** Waits for the first answer of two calls; without any, for the failure of the first call. */
async function firstAnswer(
  request: HedgedRequest,
  fork: ProviderCalls,
  first: HedgedSide,
  second: HedgedSide,
  beganMs: number,
): Promise<TargetOutcome> {
  const { calls } = request.context;
  await Promise.race([first.settled, second.settled]);
  if (!first.hasAnswered && !second.hasAnswered) await (first.isSettled ? second : first).settled;
  if (first.hasAnswered || !second.hasAnswered) {
    await giveUp(second, fork);
    fork.close();
    calls.charged.addEarlier(fork.charged.except(null));
    // The outcome of the first call counts for its target as if it were alone.
    return await first.result;
  }
  await giveUp(first, calls);
  noteLatencies(request, beganMs, await second.result);
  calls.takeOver(fork);
  return { ...(await second.result), selection: 'hedge', isHedged: true };
}

/** Cuts a call that is no longer needed, and charges it. */
async function giveUp(side: HedgedSide, calls: ProviderCalls): Promise<void> {
  const hasFailed = side.isSettled && !side.hasAnswered;
  side.cancel();
  const outcome = await side.outcomeSoon();
  if (outcome === null) return;
  discardResponse(outcome);
  calls.giveUp(hasFailed ? outcome : cancelledOutcome(outcome));
}

/** The first target takes at least as long as it was waited for. */
function noteLatencies(
  { context, leaf, hedge, form }: HedgedRequest,
  beganMs: number,
  { responseMs }: TargetOutcome,
): void {
  const { services, config } = context;
  const { targetStatistics: statistics } = services;
  statistics.note(statisticsKey(config.mark, leaf), form, monotonicMs() - beganMs);
  if (responseMs === undefined) return;
  statistics.note(statisticsKey(config.mark, hedge.target), form, responseMs);
}

/** Cancels both calls some time after the caller has left; returns what ends that. */
function cancelWithCaller(
  caller: Caller,
  sides: readonly HedgedSide[],
  lingerMs: () => number,
): () => void {
  let timer: NodeJS.Timeout | null = null;
  caller.onLeave(() => {
    timer = setTimeout(() => {
      for (const side of sides) side.cancel();
    }, lingerMs());
  });
  return () => {
    if (timer !== null) clearTimeout(timer);
    caller.onLeave(null);
  };
}
