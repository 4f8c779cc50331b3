/** Knows how an answer tells what is left of the limits of its request (docs/reference/inference.md, Headers). */
import type { LimitLeft } from '../../ledger/account.ts';
import type { Limit } from '../../ledger/limit.ts';

const microsPerDollar = 1_000_000;

/** Puts them into `headers`: none where no limit is known. `now` in ms since the epoch. */
export function addLimitHeaders(
  headers: Record<string, string>,
  usageName: string,
  left: readonly LimitLeft[],
  now: number,
): void {
  let usage = '';
  let policy = '';
  let rates = '';
  for (const { limit, told, leftUnits } of tightestOf(left)) {
    if (limit.isRate) {
      policy = listed(policy, told.policy);
      rates = listed(rates, rateItem(told.name, limit, leftUnits, now));
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

interface Told extends LimitLeft {
  readonly told: Telling;
}

/** One of each name: of several the one of which the least is left, as that one refuses first. */
function tightestOf(left: readonly LimitLeft[]): readonly Told[] {
  const found: Told[] = [];
  for (const { limit, leftUnits } of left) {
    const told = tellingOf(limit);
    const at = found.findIndex((one) => one.told.name === told.name);
    if (at < 0) found.push({ limit, leftUnits, told });
    else if (leftUnits < found[at]!.leftUnits) found[at] = { limit, leftUnits, told };
  }
  return found;
}

/** What is told of a limit in all answers of its window. */
interface Telling {
  readonly name: string;
  readonly policy: string;
}

const tellings = new WeakMap<Limit, Telling>();

function tellingOf(limit: Limit): Telling {
  const known = tellings.get(limit);
  if (known !== undefined) return known;
  const name = nameOf(limit);
  const made = { name, policy: limit.isRate ? policyItem(name, limit) : '' };
  tellings.set(limit, made);
  return made;
}

/** Whose it is, what it counts and in how many seconds; values of groups are nobody's business. */
function nameOf(limit: Limit): string {
  if (!limit.isRate) return limit.type;
  return `${limit.subjectKind.replaceAll('_', '-')}-${limit.type}-${windowSeconds(limit)}`;
}

/** `cost=4.25`, in dollars; `tokens=1200`. From the digits, as dollars in a number lose the last near 2^53. */
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
