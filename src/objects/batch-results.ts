/** Adds up what the results of a batch have used, each at its own price. */
import { isObject } from '../model/json/read-object.ts';
import { costUnits, type Price, type TokenUsage } from '../model/pricing/pricing.ts';
import {
  addReportedUsage,
  completeUsage,
  newReportedUsage,
} from '../model/pricing/reported-usage.ts';

/** Usage of all results and their cost, rounded up for each. */
export interface BatchUsage extends TokenUsage {
  readonly costUnits: number;
}

/** The state of a batch at its provider. */
export interface BatchState {
  readonly isOver: boolean;
  /** File with the results; null where the batch itself leads to them, or where there are none. */
  readonly outputFile: string | null;
  readonly hasResults: boolean;
}

const lastStatuses: ReadonlySet<unknown> = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** Reads a batch of OpenAI or Anthropic; null for anything else. */
export function batchState(batch: unknown): BatchState | null {
  if (!isObject(batch)) return null;
  if (batch.type === 'message_batch') {
    const isOver = batch.processing_status === 'ended';
    return { isOver, outputFile: null, hasResults: isOver };
  }
  if (batch.object !== 'batch') return null;
  const file = typeof batch.output_file_id === 'string' ? batch.output_file_id : null;
  return { isOver: lastStatuses.has(batch.status), outputFile: file, hasResults: file !== null };
}

/** Batches have a price of their own, whatever tier a response names. */
const batchTier = 'batch';

/** Null when a result reports no usage. */
export async function sumBatchUsage(
  lines: AsyncIterable<string>,
  price: Price | null,
): Promise<BatchUsage | null> {
  const sum = {
    inputTokens: 0,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    costUnits: 0,
  };
  for await (const line of lines) {
    const answer = answerIn(JSON.parse(line));
    if (answer === null) continue;
    const usage = usageOf(answer);
    if (usage === null) return null;
    sum.inputTokens += usage.inputTokens;
    sum.outputTokens += usage.outputTokens;
    sum.cachedInputTokens += usage.cachedInputTokens;
    sum.cacheWriteTokens += usage.cacheWriteTokens;
    sum.costUnits += price === null ? 0 : costUnits(price, usage);
  }
  return sum;
}

/** The response in a line; null for a request that failed, which costs nothing. */
function answerIn(line: unknown): object | null {
  if (!isObject(line)) return null;
  const { response, result } = line;
  if (isObject(result)) {
    return result.type === 'succeeded' && isObject(result.message) ? result.message : null;
  }
  if (!isObject(response) || !isObject(response.body)) return null;
  return Number(response.status_code) < 300 ? response.body : null;
}

function usageOf(answer: object): TokenUsage | null {
  const reported = newReportedUsage();
  addReportedUsage(reported, answer);
  const hasOutput = !('object' in answer && answer.object === 'list');
  const usage = completeUsage(reported, hasOutput);
  return (
    usage && {
      ...usage,
      details: { ...usage.details, tiers: [batchTier, ...reported.details.modes] },
    }
  );
}
