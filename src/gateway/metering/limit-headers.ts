/** Adds response headers that describe what is left of the limits (docs/reference/inference.md, Headers). */
import type { LimitLeft } from '../../ledger/account.ts';
import type { Limit } from '../../ledger/limit.ts';

const microsPerDollar = 1_000_000;

/** Adds nothing when no limit is known. `now` in milliseconds since the epoch. */
export function addLimitHeaders(
  headers: Record<string, string>,
  usageName: string,
  left: readonly LimitLeft[],
  now: number,
): void {
  let usage = '';
  let policy = '';
  let rates = '';
  for (const { limit, texts, leftUnits } of tightestOf(left)) {
    if (limit.isRate) {
      policy = listed(policy, texts.policy);
      rates = listed(rates, rateItem(texts.name, limit, leftUnits, now));
    } else usage = listed(usage, usageRemaining(limit, leftUnits));
  }
  if (usage !== '') headers[usageName] = usage;
  if (rates === '') return;
  headers['ratelimit-policy'] = policy;
  headers.ratelimit = rates;
}

function listed(before: string, item: string): string {
  return before === '' ? item : `${before}, ${item}`;
}

interface TightestLimit extends LimitLeft {
  readonly texts: HeaderTexts;
}

/** Selects for each name the limit with the least left, because that one rejects first. */
function tightestOf(left: readonly LimitLeft[]): readonly TightestLimit[] {
  const tightest: TightestLimit[] = [];
  for (const { limit, leftUnits } of left) {
    const texts = headerTextsOf(limit);
    const at = tightest.findIndex((one) => one.texts.name === texts.name);
    if (at < 0) tightest.push({ limit, leftUnits, texts });
    else if (leftUnits < tightest[at]!.leftUnits) tightest[at] = { limit, leftUnits, texts };
  }
  return tightest;
}

/** Texts that are the same for all responses in the window of a limit. */
interface HeaderTexts {
  readonly name: string;
  readonly policy: string;
}

const headerTexts = new WeakMap<Limit, HeaderTexts>();

function headerTextsOf(limit: Limit): HeaderTexts {
  const cached = headerTexts.get(limit);
  if (cached !== undefined) return cached;
  const name = nameOf(limit);
  const made = { name, policy: limit.isRate ? policyItem(name, limit) : '' };
  headerTexts.set(limit, made);
  return made;
}

/** Names subject, unit and window of a limit; group values are omitted because they may be confidential. */
function nameOf(limit: Limit): string {
  if (!limit.isRate) return limit.type;
  return `${limit.subjectKind.replaceAll('_', '-')}-${limit.type}-${windowSeconds(limit)}`;
}

/** `cost=4.25` in dollars, or `tokens=1200`. Formats the digits, because a float loses the last ones near 2^53. */
function usageRemaining(limit: Limit, leftUnits: number): string {
  if (limit.type !== 'cost') return `${limit.type}=${leftUnits}`;
  const micros = leftUnits % microsPerDollar;
  const dollars = `cost=${(leftUnits - micros) / microsPerDollar}`;
  if (micros === 0) return dollars;
  const digits = String(micros).padStart(6, '0');
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return `${dollars}.${digits.slice(0, end)}`;
}

function policyItem(name: string, limit: Limit): string {
  const unit = limit.type === 'requests' ? '' : `;qu="${limit.type}"`;
  return `"${name}";q=${limit.limitUnits}${unit};w=${windowSeconds(limit)}`;
}

function rateItem(name: string, limit: Limit, leftUnits: number, now: number): string {
  const seconds = Math.max(0, Math.ceil((limit.endsAt! - now) / 1000));
  return `"${name}";r=${leftUnits};t=${seconds}`;
}

function windowSeconds({ windowStart, endsAt }: Limit): number {
  return Math.round((endsAt! - windowStart) / 1000);
}
