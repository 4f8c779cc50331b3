/** Extracts id, completion and usage of responses and runs from what a provider reports about them. */
import { isObject } from '../model/json/read-object.ts';
import type { TokenUsage } from '../model/pricing/pricing.ts';
import {
  addReportedUsage,
  completeUsage,
  newReportedUsage,
} from '../model/pricing/reported-usage.ts';

export interface ReportedObjectUsage {
  /** Id of the response or run. */
  readonly id: string;
  /** Null for a response. */
  readonly threadId: string | null;
  readonly isOver: boolean;
  /** Null if it is missing or implausible. */
  readonly usage: TokenUsage | null;
}

/** Final states of runs and responses. */
const lastStates: ReadonlySet<unknown> = new Set([
  'completed',
  'incomplete',
  'failed',
  'cancelled',
  'expired',
]);

/** Accepts a response body, a stream event, or a page of a list. */
export function findReportedUsage(answer: unknown): ReportedObjectUsage[] {
  if (!isObject(answer)) return [];
  const { response, data } = answer;
  return [answer, response, ...(Array.isArray(data) ? data : [])].flatMap(useIn);
}

function useIn(object: unknown): ReportedObjectUsage[] {
  if (!isObject(object) || typeof object.id !== 'string') return [];
  const { id, object: type, status, thread_id: threadId } = object;
  // The results of a batch say what it has used, and only a job reads them.
  const isBatch = type === 'batch' || object.type === 'message_batch';
  if (isBatch) return [{ id, threadId: null, isOver: false, usage: null }];
  const isRun = type === 'thread.run' && typeof threadId === 'string';
  if (!isRun && type !== 'response') return [];
  const isOver = lastStates.has(status);
  return [{ id, threadId: isRun ? threadId : null, isOver, usage: usageOf(object) }];
}

function usageOf(object: object): TokenUsage | null {
  const reported = newReportedUsage();
  addReportedUsage(reported, object);
  return completeUsage(reported, true);
}
