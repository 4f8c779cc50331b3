/** Reads a limit's counters from the database, and the usage of the same requests from the provider's journal. */

import type { UsageType } from '../../src/model/limits/limits.ts';
import { idToBytes } from '../../src/model/wire/ids.ts';
import type { Db } from '../../src/store/connection/db.ts';
import type { Entry } from './journal.ts';
import type { Plan } from './plan.ts';

export interface GateLimit {
  readonly name: string;
  readonly subjectId: string;
  readonly type: UsageType;
  readonly units: number;
}

export interface Counter {
  readonly used: number;
  readonly reserved: number;
  readonly assumed: number;
}

/** Per window, oldest first. */
export async function countersOf(db: Db, { subjectId }: GateLimit): Promise<Counter[]> {
  const rows = await db
    .selectFrom('usage_counters')
    .select(['used_units', 'reserved_units', 'assumed_units'])
    .where('subject_id', '=', idToBytes(subjectId))
    .orderBy('window_start')
    .execute();
  return rows.map((row) => ({
    used: Number(row.used_units),
    reserved: Number(row.reserved_units),
    assumed: Number(row.assumed_units),
  }));
}

/** Units that a process holds of the limit, in all windows. */
export async function heldUnits(db: Db, { subjectId }: GateLimit, holder: Buffer): Promise<number> {
  const rows = await db
    .selectFrom('usage_slices')
    .select('units')
    .where('subject_id', '=', idToBytes(subjectId))
    .where('holder', '=', holder)
    .execute();
  return rows.reduce((sum, { units }) => sum + Number(units), 0);
}

/** Price of the mock upstream in micro-dollars: one per input token, two per output token. */
const cost = (inputTokens: number, outputTokens: number): number => inputTokens + 2 * outputTokens;

export function units(type: UsageType, inputTokens: number, outputTokens: number): number {
  if (type === 'requests') return 1;
  return type === 'cost' ? cost(inputTokens, outputTokens) : inputTokens + outputTokens;
}

/** Usage that the provider recorded for a request. */
export function trueUnits(type: UsageType, entry: Entry): number {
  return units(type, entry.inputTokens, entry.outputTokens);
}

/** Maximum usage of a request, charged when its usage is unknown. */
export function boundUnits(type: UsageType, plan: Plan, outputTokens: number): number {
  return units(type, plan.inputTokensMax, outputTokens);
}
