/** Builds request log records for tests of the log. */
import type { RequestRecord } from '../../../src/gateway/logs/request-record.ts';

/** A successful completion, overridden by the given fields. */
export function requestRecord(
  organisationId: string,
  more: Partial<RequestRecord> = {},
): RequestRecord {
  return {
    id: 'trace-1',
    startedAt: Date.parse('2026-11-22T08:15:00Z'),
    durationMs: 240.4,
    firstByteMs: 120.6,
    organisationId,
    workspaceId: null,
    apiKeyId: null,
    configId: null,
    endpoint: 'chat_completions',
    status: 200,
    provider: 'openai',
    service: 'openai',
    requestedModel: 'gpt',
    model: 'gpt-4o',
    targetPath: 'config',
    retries: 0,
    cacheStatus: 'MISS',
    isStream: false,
    answeredModel: 'gpt-4o-2026-08-06',
    guardrailVerdict: null,
    guardrails: null,
    guardrailChecks: [],
    droppedMembers: [],
    targetSelection: null,
    promptSlug: null,
    tokens: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, cacheWriteTokens: 0 },
    costUnits: 125,
    isEstimated: false,
    priceOrigin: { source: 'table', version: 'prices 1' },
    openCharge: null,
    mcp: null,
    earlierAttempts: [],
    errorCode: null,
    metadata: { team: 'a' },
    ...more,
  };
}
