/** Reads the usage that Gemini's live API reports in its messages. */
import { isObject } from '../../../model/json/read-object.ts';
import type { TokenUsage } from '../../../model/pricing/pricing.ts';
import {
  addReportedUsage,
  completeUsage,
  newReportedUsage,
} from '../../../model/pricing/reported-usage.ts';
import type { LiveMessage } from '../../../model/realtime/live-messages.ts';

/** Null for a message without usage, and undefined for one whose counts are not plausible. */
export function liveUsageIn({ usageMetadata: usage }: LiveMessage): TokenUsage | null | undefined {
  if (!isObject(usage)) return null;
  const { responseTokenCount, responseTokensDetails, ...counts } = usage;
  const usual = {
    candidatesTokenCount: responseTokenCount,
    candidatesTokensDetails: responseTokensDetails,
    ...counts,
  };
  const reported = newReportedUsage();
  addReportedUsage(reported, { usageMetadata: usual });
  return completeUsage(reported, true) ?? undefined;
}

/**
 * The usage of a response after a further report: a report that is nowhere below the earlier one counts again what that
 * one counted, and any other one is added.
 */
export function withLiveReport(earlier: TokenUsage | null, report: TokenUsage): TokenUsage {
  if (earlier === null || continues(earlier, report)) return report;
  return {
    inputTokens: earlier.inputTokens + report.inputTokens,
    outputTokens: earlier.outputTokens + report.outputTokens,
    cachedInputTokens: earlier.cachedInputTokens + report.cachedInputTokens,
    cacheWriteTokens: earlier.cacheWriteTokens + report.cacheWriteTokens,
    ...(report.details !== undefined && { details: summedDetails(earlier, report) }),
  };
}

function continues(earlier: TokenUsage, report: TokenUsage): boolean {
  return report.inputTokens >= earlier.inputTokens && report.outputTokens >= earlier.outputTokens;
}

function summedDetails(
  { details: one }: TokenUsage,
  { details: other }: TokenUsage,
): NonNullable<TokenUsage['details']> {
  const kinds: Record<string, number> = { ...one?.kinds };
  for (const [name, count] of Object.entries(other?.kinds ?? {})) {
    kinds[name] = (kinds[name] ?? 0) + count;
  }
  return { ...one, ...other, kinds };
}
