/** Plans the faults of a gauntlet: the same seed, length and kinds give the same plan on every machine. */
import { SeededRandom } from '../../support/run/seeded-random.ts';

/** Part of a kind of fault that the plan needs. */
export interface PlannedKind {
  readonly name: string;
  /** Bounds of the time between injection and healing. */
  readonly durationMs: readonly [least: number, most: number];
}

export interface PlannedFault {
  /** Since the start of the load. */
  readonly atMs: number;
  readonly kind: string;
  /** Selects one of the targets of the kind: at least 0, below 1. */
  readonly target: number;
  readonly durationMs: number;
}

export interface FaultPlan {
  readonly seed: number;
  readonly minutes: number;
  readonly faults: readonly PlannedFault[];
}

/** Load without faults, for comparison at the start and for recovery at the end. */
const [calmStartMs, calmEndMs] = [2_000, 8_000];
/** Bounds of the time between two injections. */
const spacingMs = [1_000, 3_000] as const;
const minuteMs = 60_000;

/** Each kind occurs once before any occurs again. */
export function planFaults(
  seed: number,
  minutes: number,
  kinds: readonly PlannedKind[],
): FaultPlan {
  const random = new SeededRandom(seed);
  const faults: PlannedFault[] = [];
  let deck: PlannedKind[] = [];
  let atMs = calmStartMs;
  while (atMs < minutes * minuteMs - calmEndMs) {
    if (deck.length === 0) deck = [...kinds];
    const [drawn] = deck.splice(random.below(deck.length), 1);
    faults.push({
      atMs,
      kind: drawn!.name,
      target: random.next(),
      durationMs: random.integer(...drawn!.durationMs),
    });
    atMs += random.integer(...spacingMs);
  }
  return { seed, minutes, faults };
}

/** A plan of these faults alone, with the times between them, in the shortest run that has room for them. */
export function planAround(seed: number, faults: readonly PlannedFault[]): FaultPlan {
  const earlierMs = Math.min(...faults.map(({ atMs }) => atMs)) - calmStartMs;
  const moved = faults.map((fault) => ({ ...fault, atMs: fault.atMs - earlierMs }));
  const endMs = Math.max(...moved.map(({ atMs, durationMs }) => atMs + durationMs)) + calmEndMs;
  return { seed, minutes: Math.ceil((endMs / minuteMs) * 100) / 100, faults: moved };
}
