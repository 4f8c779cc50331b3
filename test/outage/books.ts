/** Compares the provider's journal with the log and the counters of a run, and the answers with what was known. */
import { chargeLostSlices } from '../../src/jobs/charge-lost-slices.ts';
import type { Database, Db } from '../../src/store/connection/db.ts';
import { chargedUnits, chargeFault, knownRequests, type RequestCharge } from '../gate/charges.ts';
import { countersOf, type GateLimit, trueUnits } from '../gate/counters.ts';
import type { Entry } from '../gate/journal.ts';
import { jobContext } from '../support/server/job-context.ts';
import type { Crowd, CrowdKey, CrowdObservation, Incarnation } from './crowd.ts';
import type { LimitedKey } from './faults.ts';

/** Observations of the callers of a run, and the end of each process that they reached. */
export interface CallerRecords {
  readonly requested: readonly CrowdObservation[];
  readonly incarnations: readonly Pick<Incarnation, 'endedAtMs' | 'isKilled' | 'isUnsettled'>[];
}

/** Answers that contradict what their gateway knew. */
export function falseAnswers({ requested, incarnations }: Crowd): string[] {
  return requested.flatMap((one) => {
    const { by, status, gate, sentMs, plan, ageSeconds } = one;
    const { startedWithout, refused } = incarnations[gate]!;
    const say = (fault: string) => [
      `request ${plan.id} of a ${by.kind} key at gateway ${gate}, age ${ageSeconds}: ${status} ${fault}`,
    ];
    if (status === 401 && by.revokedAtMs === null) return say('for a good key');
    if (status === 200 && startedWithout.has(by)) {
      return say('for a key that was revoked before the snapshot');
    }
    if (status === 200 && (refused.get(by) ?? Number.POSITIVE_INFINITY) < sentMs) {
      return say('for a key that it had refused before');
    }
    if (by.kind === 'unlimited' && status !== 0 && !servedStatuses.has(status)) {
      return say(`(${one.code}) for a key that nothing limits`);
    }
    return [];
  });
}

/** The provider breaks off (502) or fails (500) by itself. */
const servedStatuses: ReadonlySet<number> = new Set([200, 500, 502]);

/** Answered requests that have no row in the log, or more than one, beyond what a kill may take. */
export async function lostRows(
  db: Db,
  { requested, incarnations }: CallerRecords,
  killBoundMs: number,
): Promise<string[]> {
  const rows = await db.selectFrom('request_logs').select('trace_id').execute();
  const counts = new Map<string, number>();
  for (const { trace_id } of rows) counts.set(trace_id, (counts.get(trace_id) ?? 0) + 1);
  return requested.flatMap(({ plan, status, isWhole, gate, doneMs }) => {
    const count = counts.get(plan.id) ?? 0;
    const { endedAtMs, isKilled } = incarnations[gate]!;
    const isAnswered = status === 200 && isWhole;
    if (count === 1 || (count === 0 && !isAnswered)) return [];
    if (count === 0 && isKilled && doneMs > endedAtMs - killBoundMs) return [];
    return [
      `${plan.id} at gateway ${gate} has ${count} rows, ${endedAtMs - doneMs} ms before its end`,
    ];
  });
}

/** Charges the slices of everything that died, as if their leases had ended. Nothing runs any more. */
export async function endLeases(database: Database): Promise<void> {
  const { db } = database;
  await db.updateTable('usage_slices').set({ lease_until: null }).execute();
  await db.updateTable('usage_holders').set({ lease_until: 0 }).execute();
  await chargeLostSlices().run(jobContext(database, Date.now()));
}

/** Reads the log entry of each call that reached the provider, or was charged. */
export function readCalls(
  db: Db,
  entries: readonly Entry[],
  { requested, incarnations }: CallerRecords,
): Promise<RequestCharge[]> {
  const isUnsettled = (gate: number): boolean => incarnations[gate]!.isUnsettled;
  return knownRequests(db, entries, requested, isUnsettled);
}

/** Charges that the journal contradicts. Without a limit an unknown usage is only estimated for the log. */
export function falseCharges(
  known: readonly RequestCharge[],
  { incarnations }: CallerRecords,
): string[] {
  return known
    .filter(({ requested, charge }) => {
      if (charge === null) return !incarnations[requested.gate]!.isUnsettled;
      return !charge.isEstimated || hasLimit((requested as CrowdObservation).by);
    })
    .map((one) => {
      const fault = chargeFault(one);
      return fault && `${(one.requested as CrowdObservation).by.kind} key: ${fault}`;
    })
    .filter((fault) => fault !== null);
}

const hasLimit = ({ kind }: CrowdKey): boolean => kind === 'refusing' || kind === 'allowing';

interface LimitSums {
  /** By the provider's journal. */
  readonly true: number;
  /** Charges of gateways that have settled. */
  readonly ofSettled: number;
  /** Most that others may have been charged. */
  readonly ofUnsettled: number;
}

function sumsOf(
  known: readonly RequestCharge[],
  by: CrowdKey,
  { incarnations }: CallerRecords,
): LimitSums {
  const sum = { true: 0, ofSettled: 0, ofUnsettled: 0 };
  for (const call of known) {
    if ((call.requested as CrowdObservation).by !== by) continue;
    if (call.entry !== null) sum.true += trueUnits('tokens', call.entry);
    const { isUnsettled } = incarnations[call.requested.gate]!;
    sum[isUnsettled ? 'ofUnsettled' : 'ofSettled'] += chargedUnits('tokens', call);
  }
  return sum;
}

async function totalOf(db: Db, { key, limitUnitsMost }: LimitedKey) {
  const limit: GateLimit = {
    name: 'key',
    subjectId: key.id,
    type: 'tokens',
    units: limitUnitsMost,
  };
  const counters = await countersOf(db, limit);
  const total = (field: keyof (typeof counters)[0]) =>
    counters.reduce((units, counter) => units + counter[field], 0);
  return { used: total('used'), assumed: total('assumed'), reserved: total('reserved') };
}

/** Whether less is charged than the provider did: usage of dead processes is on disk until it is settled. */
export async function lacksCharges(
  db: Db,
  records: CallerRecords,
  known: readonly RequestCharge[],
  limited: readonly LimitedKey[],
): Promise<boolean> {
  for (const one of limited) {
    const { used } = await totalOf(db, one);
    if (used < sumsOf(known, one.key, records).true) return true;
  }
  return false;
}

interface CheckedLimit {
  readonly limited: LimitedKey;
  /** Number of gateways that have an allowance. */
  readonly places: number;
  /** Leases of gateways that went on running have ended, so that what these had used is among the assumed charges. */
  readonly hasEndedLeases: boolean;
}

/** Describes the charges of a limited key, with everything that contradicts the limit, the allowances or the journal. */
export interface LimitBalance {
  readonly summary: string;
  /** The provider did more than the limit and the allowances permit. */
  readonly overspent: readonly string[];
  /** Charges that are missing, doubled or still reserved. */
  readonly miscounted: readonly string[];
}

export async function balanceLimit(
  db: Db,
  records: CallerRecords,
  known: readonly RequestCharge[],
  { limited, places, hasEndedLeases }: CheckedLimit,
): Promise<LimitBalance> {
  const { key, limitUnitsMost, allowanceUnits } = limited;
  const sum = sumsOf(known, key, records);
  const { used, assumed, reserved } = await totalOf(db, limited);
  const most = limitUnitsMost + (allowanceUnits ?? 0) * places;
  const ofUnsettled = used - assumed - sum.ofSettled;
  const fewest = hasEndedLeases ? -assumed : 0;
  const summary =
    `${key.kind} key with a limit of ${limitUnitsMost}: ${sum.true} at the provider, ${used} charged ` +
    `(${assumed} assumed), at most ${most}; settled ${sum.ofSettled}, unsettled up to ${sum.ofUnsettled}`;
  const miscounted = [
    reserved !== 0 && `${reserved} units stay reserved`,
    used < sum.true && 'less is charged than the provider did',
    ofUnsettled < fewest && 'settled charges are missing',
    ofUnsettled > sum.ofUnsettled && 'something is charged twice',
  ];
  return {
    summary,
    overspent: sum.true > most ? [`${summary}: the limit is exceeded`] : [],
    miscounted: miscounted
      .filter((fault) => fault !== false)
      .map((fault) => `${summary}: ${fault}`),
  };
}
