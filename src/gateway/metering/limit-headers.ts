/** Knows how an answer tells what is left of the limits of its request (docs/inference.md, Headers). */
import type { LimitLeft } from '../../ledger/account.ts';
import type { Limit } from '../../ledger/limit.ts';

const microsPerDollar = 1_000_000;

/** Puts them into `headers`: none where no limit is known. `now` in ms since the epoch. */
export function tellLimits(
  headers: Record<string, string>,
  usageName: string,
  left: readonly LimitLeft[],
  now: number,
): void {
  if (left.length === 0) return;
  const budgets: LimitLeft[] = [];
  const rates: LimitLeft[] = [];
  for (const one of left) keepTightest(one.limit.isRate ? rates : budgets, one);
  if (budgets.length > 0) {
    headers[usageName] = budgets.map(usageRemaining).join(', ');
  }
  if (rates.length > 0) {
    headers['ratelimit-policy'] = rates.map(({ limit }) => toldOf(limit).policy).join(', ');
    headers.ratelimit = rates.map((one) => rateItem(one, now)).join(', ');
  }
}

/** One of each name: of several the one of which the least is left, as that one refuses first. */
function keepTightest(found: LimitLeft[], one: LimitLeft): void {
  const { name } = toldOf(one.limit);
  const at = found.findIndex(({ limit }) => toldOf(limit).name === name);
  if (at < 0) found.push(one);
  else if (one.leftUnits < found[at]!.leftUnits) found[at] = one;
}

/** What is told of a limit in all answers of its window. */
interface Told {
  readonly name: string;
  readonly policy: string;
}

const told = new WeakMap<Limit, Told>();

function toldOf(limit: Limit): Told {
  const known = told.get(limit);
  if (known !== undefined) return known;
  const name = nameOf(limit);
  const made = { name, policy: limit.isRate ? policyItem(name, limit) : '' };
  told.set(limit, made);
  return made;
}

/** Whose it is, what it counts and in how many seconds; values of groups are nobody's business. */
function nameOf(limit: Limit): string {
  if (!limit.isRate) return limit.type;
  return `${limit.subjectKind.replaceAll('_', '-')}-${limit.type}-${windowSeconds(limit)}`;
}

/** `cost=4.25`, in dollars; `tokens=1200`. From the digits, as dollars in a number lose the last near 2^53. */
function usageRemaining({ limit, leftUnits }: LimitLeft): string {
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

function rateItem({ limit, leftUnits }: LimitLeft, now: number): string {
  const { name } = toldOf(limit);
  const seconds = Math.max(0, Math.ceil((limit.endsAt! - now) / 1000));
  return `"${name}";r=${leftUnits};t=${seconds}`;
}

function windowSeconds({ windowStart, endsAt }: Limit): number {
  return Math.round((endsAt! - windowStart) / 1000);
}
