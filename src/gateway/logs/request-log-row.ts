/** Converts the log entry of a request to a table row. */
import { newIdBytesAt } from '../../model/wire/ids.ts';
import * as requestLogs from '../../store/logs/request-logs.ts';
import type { RequestRecord } from './request-record.ts';

/** A log entry of an authenticated request. */
export interface LoggedRecord extends RequestRecord {
  readonly organisationId: string;
}

const textCharsMax = 255;
const millisecondsMax = 2 ** 31 - 1;

/** Builds a row that fits the table, whatever callers and providers sent. */
export function rowOf(entry: LoggedRecord): requestLogs.WrittenRow {
  const { tokens, firstByteMs } = entry;
  const endedAt = Math.round(entry.startedAt + entry.durationMs);
  const row: requestLogs.RequestLogRow = {
    organisation_id: entry.organisationId,
    ended_at: endedAt,
    // The id contains the time, so that it determines the partition of the row.
    id: newIdBytesAt(endedAt),
    trace_id: entry.id,
    workspace_id: entry.workspaceId,
    api_key_id: entry.apiKeyId,
    config_id: entry.configId,
    prompt_slug: entry.promptSlug,
    endpoint: entry.endpoint,
    status: entry.status,
    error_code: entry.errorCode,
    provider: cut(entry.provider),
    requested_model: cut(entry.requestedModel),
    model: cut(entry.model),
    answered_model: entry.answeredModel === entry.model ? null : cut(entry.answeredModel),
    target_path: cut(entry.targetPath),
    retries: entry.retries,
    cache_status: entry.cacheStatus,
    guardrail_verdict: entry.guardrailVerdict,
    is_stream: Number(entry.isStream),
    duration_ms: milliseconds(entry.durationMs),
    first_byte_ms: firstByteMs === null ? null : milliseconds(firstByteMs),
    input_tokens: whole(tokens?.inputTokens),
    output_tokens: whole(tokens?.outputTokens),
    cached_input_tokens: whole(tokens?.cachedInputTokens),
    cache_write_tokens: whole(tokens?.cacheWriteTokens),
    cost_units: whole(entry.costUnits),
    is_estimated: Number(entry.isEstimated),
    earlier_attempts: earlierAttemptsOf(entry),
    price_source: entry.priceOrigin?.source ?? null,
    price_version: cut(entry.priceOrigin?.version ?? null),
    metadata: JSON.stringify(entry.metadata),
    is_reported: 0,
    guardrails: verdictsOf(entry),
    ...checkColumnsOf(entry),
    mcp_server: entry.mcp?.server ?? null,
    mcp_name: cut(entry.mcp?.name ?? null),
    dropped_members:
      entry.droppedMembers.length === 0 ? null : JSON.stringify(entry.droppedMembers),
    target_selection: entry.targetSelection,
  };
  return requestLogs.writeRow(row, entry.openCharge);
}

/** JSON as the log returns it; null for none, which is usual. */
function earlierAttemptsOf({ earlierAttempts }: RequestRecord): string | null {
  if (earlierAttempts.length === 0) return null;
  const attempts = earlierAttempts.map(
    ({ tokens, ...attempt }): requestLogs.LoggedAttempt => ({
      provider: attempt.provider.slice(0, textCharsMax),
      model: cut(attempt.model),
      target_path: attempt.targetPath,
      status: attempt.status,
      input_tokens: tokens.inputTokens,
      output_tokens: tokens.outputTokens,
      cached_input_tokens: tokens.cachedInputTokens,
      cache_write_tokens: tokens.cacheWriteTokens,
      cost_units: attempt.costUnits,
      is_estimated: attempt.isEstimated,
      price_source: attempt.priceOrigin?.source ?? null,
      price_version: cut(attempt.priceOrigin?.version ?? null),
    }),
  );
  return JSON.stringify(attempts);
}

/** Ids in ascending order, so that requests with the same verdicts have the same text; null for none. */
function verdictsOf({ guardrails }: RequestRecord): string | null {
  if (guardrails === null) return null;
  return JSON.stringify(Object.fromEntries([...guardrails].sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Checks in a fixed order, so that requests with the same verdicts have the same text. */
function checkColumnsOf({ guardrailChecks }: RequestRecord) {
  if (guardrailChecks.length === 0) return { guardrail_checks: null, guardrail_check_ms: null };
  const columns = guardrailChecks
    .map(({ guardrail, check, side, verdict, is_monitored: isMonitored, duration_ms: ms }) => ({
      key: JSON.stringify([cut(guardrail), cut(check), side, verdict, Number(isMonitored)]),
      ms: milliseconds(ms),
    }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  return {
    guardrail_checks: `[${columns.map(({ key }) => key).join(',')}]`,
    guardrail_check_ms: JSON.stringify(columns.map(({ ms }) => ms)),
  };
}

function cut(text: string | null): string | null {
  return text === null || text.length <= textCharsMax ? text : text.slice(0, textCharsMax);
}

function milliseconds(ms: number): number {
  return Math.min(millisecondsMax, Math.max(0, Math.round(ms)));
}

function whole(units: number | null | undefined): number | null {
  if (units === null || units === undefined) return null;
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(units)));
}
