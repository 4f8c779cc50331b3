/** Describes what must hold after a gauntlet, and what the checks may read. */
import type { RequestCharge } from '../../gate/charges.ts';
import type { Injection } from '../faults/fault.ts';
import type { Loads } from '../load/every-load.ts';
import type { PacedTraffic } from '../load/pacer.ts';
import type { Stall } from '../load/stalls.ts';
import type { Scene } from '../scene/scene.ts';

/** Records of a run, once nothing but the database, the control planes and the witnesses runs. */
export interface Aftermath {
  readonly scene: Scene;
  readonly traffic: PacedTraffic;
  readonly injections: readonly Injection[];
  readonly stalls: readonly Stall[];
  readonly loads: Loads;
  /** Every call that reached the provider or was charged. */
  readonly calls: readonly RequestCharge[];
  /** Time before a kill whose log rows may be lost. */
  readonly killBoundMs: number;
  /** Stored responses that their owner could not read in the end. */
  readonly unreadObjects: readonly string[];
  /** Whether the server has the newest commit. */
  readonly isSynced: boolean;
  /** Metrics of every server, read before the gateways stopped. */
  readonly metrics: readonly string[];
}

/** A violation whose time is known, by `Date.now()`; a line alone is one whose time is not. */
export interface TimedViolation {
  readonly line: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Invariant {
  /** Name of the count that must be 0: `usage rows lost`. */
  readonly name: string;
  /** Document that promises it. */
  readonly document: string;
  readonly check: (aftermath: Aftermath) => Promise<readonly (string | TimedViolation)[]>;
}
