/** Describes a kind of fault: its targets, how it is injected and healed, and what callers may see of it. */
import type { Answer } from '../load/answer.ts';
import type { PlannedFault, PlannedKind } from '../plan/fault-plan.ts';
import type { Scene } from '../scene/scene.ts';

/** Something that a fault hits; faults that claim the same part wait for each other. */
export interface FaultTarget {
  readonly name: string;
  readonly claims: readonly string[];
}

/** An answer that a fault may cause, with the document that says so. */
export interface Permit {
  readonly surfaces: readonly Answer['surface'][];
  /** 0 stands for no answer. */
  readonly statuses: readonly number[];
  /** Whether only answers of the target itself are permitted. */
  readonly isAtTarget: boolean;
  /** Place in the documents: `docs/guides/operations.md, Spool`. */
  readonly document: string;
}

/** Ends the fault, and resolves once everything runs again. */
type Heal = () => Promise<void>;

export interface FaultKind<Target extends FaultTarget = FaultTarget> extends PlannedKind {
  readonly permits: readonly Permit[];
  readonly targetsOf: (scene: Scene) => readonly Target[];
  /** The reason why this machine or database cannot have the fault; null when it can. */
  readonly whyMissing?: (scene: Scene) => string | null;
  readonly inject: (scene: Scene, target: Target) => Promise<Heal>;
}

/** A fault of the plan, as it happened. */
export interface Injection {
  readonly planned: PlannedFault;
  readonly kind: FaultKind;
  readonly targetName: string;
  readonly fromMs: number;
  /** When everything ran again; infinite before. */
  healedMs: number;
}

/** A fault of the plan that could not be injected. */
export interface Omission {
  readonly planned: PlannedFault;
  readonly reason: string;
}

export const operations = (section: string): string => `docs/guides/operations.md, ${section}`;
