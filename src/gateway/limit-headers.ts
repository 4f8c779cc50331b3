/** Knows how an answer tells what is left of the limits of its request (docs/inference.md, Headers). */
import type { LimitLeft } from '../ledger/account.ts';

const microsPerDollar = 1_000_000;

/** Nothing where no limit is known. `prefix` as of all headers of ours; `now` in ms since the epoch. */
export function limitHeaders(
  left: readonly LimitLeft[],
  prefix: string,
  now: number,
): Record<string, string> {
  if (left.length === 0) return {};
  const headers: Record<string, string> = {};
  const budgets = tightest(left.filter(({ limit }) => !limit.isRate));
  if (budgets.size > 0) {
    headers[`${prefix}usage-remaining`] = [...budgets.values()].map(usageRemaining).join(', ');
  }
  const rates = tightest(left.filter(({ limit }) => limit.isRate));
  if (rates.size > 0) {
    const all = [...rates];
    headers['ratelimit-policy'] = all.map(([name, one]) => policyItem(name, one)).join(', ');
    headers.ratelimit = all.map(([name, one]) => rateItem(name, one, now)).join(', ');
  }
  return headers;
}

/** One of each name: of several the one of which the least is left, as that one refuses first. */
function tightest(left: readonly LimitLeft[]): ReadonlyMap<string, LimitLeft> {
  const found = new Map<string, LimitLeft>();
  for (const one of left) {
    const name = nameOf(one);
    const other = found.get(name);
    if (other === undefined || one.leftUnits < other.leftUnits) found.set(name, one);
  }
  return found;
}

/** Whose it is, what it counts and in how many seconds; values of groups are nobody's business. */
function nameOf({ limit }: LimitLeft): string {
  if (!limit.isRate) return limit.type;
  return `${limit.subjectKind.replaceAll('_', '-')}-${limit.type}-${windowSeconds(limit)}`;
}

/** `cost=4.25`, in dollars; `tokens=1200`. From the digits, as dollars in a number lose the last near 2^53. */
function usageRemaining({ limit, leftUnits }: LimitLeft): string {
  if (limit.type !== 'cost') return `${limit.type}=${leftUnits}`;
  const micros = String(leftUnits % microsPerDollar).padStart(6, '0');
  const dollars = `${Math.floor(leftUnits / microsPerDollar)}.${micros}`;
  return `cost=${dollars.replace(/\.?0+$/, '')}`;
}

function policyItem(name: string, { limit }: LimitLeft): string {
  const unit = limit.type === 'requests' ? '' : `;qu="${limit.type}"`;
  return `"${name}";q=${limit.limitUnits}${unit};w=${windowSeconds(limit)}`;
}

function rateItem(name: string, { limit, leftUnits }: LimitLeft, now: number): string {
  const seconds = Math.max(0, Math.ceil((limit.endsAt! - now) / 1000));
  return `"${name}";r=${leftUnits};t=${seconds}`;
}

function windowSeconds({ windowStart, endsAt }: LimitLeft['limit']): number {
  return Math.round((endsAt! - windowStart) / 1000);
}
