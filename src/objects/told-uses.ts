/** Knows what a provider tells of responses and runs that it works on: which they are, whether they are over, and what they have used. */
import type { TokenUsage } from '../model/pricing/pricing.ts';
import { noteUsage, nothingSaid, wholeUsage } from '../model/pricing/said-usage.ts';

export interface ToldUse {
  /** Of the response, or of the run. */
  readonly id: string;
  /** Null for a response. */
  readonly threadId: string | null;
  readonly isOver: boolean;
  /** Null where it is not said, or what is said can be no use. */
  readonly usage: TokenUsage | null;
}

/** Of a run and of a response; nothing follows on them. */
const lastStates: ReadonlySet<unknown> = new Set([
  ...['completed', 'incomplete', 'failed', 'cancelled', 'expired'],
]);

/** In an answer, an event of a stream, or a page of a list. */
export function toldUses(answer: unknown): ToldUse[] {
  if (!isObject(answer)) return [];
  const { response, data } = answer;
  return [answer, response, ...(Array.isArray(data) ? data : [])].flatMap(useIn);
}

function useIn(told: unknown): ToldUse[] {
  if (!isObject(told) || typeof told.id !== 'string') return [];
  const { id, object, status, thread_id: threadId } = told;
  const isRun = object === 'thread.run' && typeof threadId === 'string';
  if (!isRun && object !== 'response') return [];
  const isOver = lastStates.has(status);
  return [{ id, threadId: isRun ? threadId : null, isOver, usage: usageOf(told) }];
}

function usageOf(told: object): TokenUsage | null {
  const said = nothingSaid();
  noteUsage(said, told);
  return wholeUsage(said, true);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
