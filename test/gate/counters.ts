/** Knows what the database says of a limit, and what its provider says of the same requests. */

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

/** Of each window, the oldest first. */
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

/** What a process holds of it, in all windows. */
export async function heldUnits(db: Db, { subjectId }: GateLimit, holder: Buffer): Promise<number> {
  const rows = await db
    .selectFrom('usage_slices')
    .select('units')
    .where('subject_id', '=', idToBytes(subjectId))
    .where('holder', '=', holder)
    .execute();
  return rows.reduce((sum, { units }) => sum + Number(units), 0);
}

/** Micro-dollars of the mock upstream: one for a token of input, two for one of output. */
const cost = (inputTokens: number, outputTokens: number): number => inputTokens + 2 * outputTokens;

export function units(type: UsageType, inputTokens: number, outputTokens: number): number {
  if (type === 'requests') return 1;
  return type === 'cost' ? cost(inputTokens, outputTokens) : inputTokens + outputTokens;
}

/** What the provider says that a request has used. */
export function trueUnits(type: UsageType, entry: Entry): number {
  return units(type, entry.inputTokens, entry.outputTokens);
}

/** The most that a request can use, which is charged where nobody is told what it did. */
export function boundUnits(type: UsageType, plan: Plan, outputTokens: number): number {
  return units(type, plan.body.length, outputTokens);
}
