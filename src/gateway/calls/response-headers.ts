/** Builds the gateway's own response headers: trace id, target, cache status, remaining limits. */
import { visibleHeaderValue } from '../../http/responses/response-head.ts';
import type { LimitLeft } from '../../ledger/account.ts';
import { addLimitHeaders } from '../metering/limit-headers.ts';
import type { TargetOutcome } from './outcome.ts';
import type { Arrival } from './request-context.ts';

const none: readonly never[] = [];

/** Headers that describe which target served the request. */
export function gatewayHeaders(
  { id, headerPrefix }: Arrival,
  outcome: TargetOutcome | null,
): Record<string, string> {
  const names = gatewayHeaderNames(headerPrefix);
  const headers: Record<string, string> = { [names.traceId]: id };
  if (outcome === null) return headers;
  const { target, retries, cacheStatus } = outcome;
  headers[names.provider] = visibleHeaderValue(target.provider);
  headers[names.retries] = String(retries);
  headers[names.targetPath] = visibleHeaderValue(target.path);
  headers[names.cacheStatus] = cacheStatus;
  if (outcome.selection !== undefined) headers[names.selection] = outcome.selection;
  const dropped = target.translator?.dropped ?? none;
  if (dropped.length > 0) headers[names.droppedMembers] = visibleHeaderValue(dropped.join(', '));
  if (target.isEstimated) headers[names.tokenCount] = 'estimated';
  return headers;
}

/** {@link gatewayHeaders} and the remaining limits; `now` in milliseconds since the epoch. */
export function responseHeaders(
  arrival: Arrival,
  outcome: TargetOutcome | null,
  left: readonly LimitLeft[],
  now: number,
): Record<string, string> {
  const headers = gatewayHeaders(arrival, outcome);
  if (left.length === 0) return headers;
  addLimitHeaders(headers, gatewayHeaderNames(arrival.headerPrefix).usageRemaining, left, now);
  return headers;
}

/** Cached per prefix because building the names for each response costs more than their values. */
const namesByPrefix = new Map<string, ReturnType<typeof namesUnder>>();

export function gatewayHeaderNames(prefix: string) {
  const cached = namesByPrefix.get(prefix);
  if (cached !== undefined) return cached;
  const names = namesUnder(prefix);
  namesByPrefix.set(prefix, names);
  return names;
}

function namesUnder(prefix: string) {
  return {
    traceId: `${prefix}trace-id`,
    provider: `${prefix}provider`,
    retries: `${prefix}retry-attempt-count`,
    targetPath: `${prefix}last-used-option-index`,
    cacheStatus: `${prefix}cache-status`,
    selection: `${prefix}target-selection`,
    usageRemaining: `${prefix}usage-remaining`,
    cost: `${prefix}cost`,
    droppedMembers: `${prefix}dropped-members`,
    exception: `${prefix}gateway-exception`,
    tokenCount: `${prefix}token-count`,
    failedProviders: `${prefix}failed-providers`,
  };
}
