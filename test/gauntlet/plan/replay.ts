/** Reads the plan of an earlier report, whole or narrowed to the faults around its violations. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type FaultPlan, type PlannedFault, planAround } from './fault-plan.ts';

export interface Replay {
  readonly plan: FaultPlan;
  /** Requests a second. */
  readonly rate: number;
  /** Engine, or address without credentials. */
  readonly database: string;
}

export interface ReplayOptions {
  /** Only faults around the times of violations. */
  readonly narrows: boolean;
  /** Parts of names of the faults to repeat; null for all. */
  readonly faults: readonly string[] | null;
}

/** Time after the healing of a fault in which its effects may show: the recovery, and the longest answer. */
const effectMs = 30_000;

const amount = z.number().nonnegative();
const Fault = z.object({
  atMs: amount,
  kind: z.string(),
  target: amount.lt(1),
  durationMs: amount,
});
const Report = z.object({
  plan: z.object({ seed: amount.int(), minutes: z.number().positive(), faults: z.array(Fault) }),
  rate: z.number().positive(),
  database: z.string(),
  invariants: z.array(
    z.object({
      invariant: z.string(),
      violations: z.array(
        z.object({ line: z.string(), atMs: z.tuple([amount, amount]).nullable() }),
      ),
    }),
  ),
});

/** @throws Error that names the file and what is wrong with it */
export function readReplay(path: string, { narrows, faults }: ReplayOptions): Replay {
  const { plan, rate, database, invariants } = parseReport(path);
  const named = plan.faults.filter(
    ({ kind }) => faults?.some((part) => kind.includes(part)) ?? true,
  );
  if (!narrows) return { plan: { ...plan, faults: named }, rate, database };
  const times = invariants
    .flatMap(({ violations }) => violations)
    .map(({ atMs }) => atMs)
    .filter((atMs) => atMs !== null);
  if (times.length === 0) throw new Error(`${path} has no violation whose time is known`);
  const around = named.filter((fault) => times.some((span) => mayExplain(fault, span)));
  if (around.length === 0) throw new Error(`${path} has no such fault around its violations`);
  return { plan: planAround(plan.seed, around), rate, database };
}

function mayExplain(
  { atMs, durationMs }: PlannedFault,
  [fromMs, toMs]: readonly [number, number],
): boolean {
  return atMs <= toMs && fromMs <= atMs + durationMs + effectMs;
}

function parseReport(path: string): z.infer<typeof Report> {
  let read: unknown;
  try {
    read = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`--replay cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
  const { data, error } = Report.safeParse(read);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new Error(
    `${path} is no report of a gauntlet: ${issue!.path.join('.')}: ${issue!.message}`,
  );
}
