/** Injects the faults of a plan at their times and heals them; faults of the same part wait for each other. */
import { setTimeout as wait } from 'node:timers/promises';
import type { FaultPlan, PlannedFault } from '../plan/fault-plan.ts';
import type { Scene } from '../scene/scene.ts';
import type { FaultKind, Injection, Omission } from './fault.ts';

export class Injector {
  readonly injections: Injection[] = [];
  readonly omissions: Omission[] = [];
  readonly #scene: Scene;
  readonly #kinds: ReadonlyMap<string, FaultKind>;
  readonly #onInjection: (line: string) => void;
  /** The last fault that claimed each part. */
  readonly #claims = new Map<string, Promise<void>>();

  constructor(scene: Scene, kinds: readonly FaultKind[], onInjection: (line: string) => void) {
    this.#scene = scene;
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]));
    this.#onInjection = onInjection;
  }

  /** Resolves once the whole plan is carried out and everything runs again. */
  async run({ faults }: FaultPlan): Promise<void> {
    const beganMs = Date.now();
    const carrying: Promise<void>[] = [];
    for (const planned of faults) {
      await wait(Math.max(0, beganMs + planned.atMs - Date.now()));
      carrying.push(this.#carryOut(planned));
    }
    await Promise.all(carrying);
  }

  #carryOut(planned: PlannedFault): Promise<void> {
    const kind = this.#kinds.get(planned.kind);
    const reason =
      kind === undefined ? 'this version does not know it' : kind.whyMissing?.(this.#scene);
    if (kind === undefined || reason) {
      this.omissions.push({ planned, reason: reason! });
      return Promise.resolve();
    }
    const targets = kind.targetsOf(this.#scene);
    const target = targets[Math.floor(planned.target * targets.length)]!;
    const earlier = target.claims.map((claim) => this.#claims.get(claim));
    const carrying = Promise.all(earlier).then(async () => {
      const injection: Injection = {
        planned,
        kind,
        targetName: target.name,
        fromMs: Date.now(),
        healedMs: Number.POSITIVE_INFINITY,
      };
      this.injections.push(injection);
      this.#onInjection(`${kind.name}: ${target.name}`);
      const heal = await kind.inject(this.#scene, target);
      await wait(planned.durationMs);
      await heal();
      injection.healedMs = Date.now();
    });
    for (const claim of target.claims) this.#claims.set(claim, carrying);
    return carrying;
  }
}
