/** Remembers the last valid version of a source, for use while the source is invalid. */
import { Failure, type FailureKind } from '../../failure.ts';
import type { DesiredSet } from '../resources/resource-set.ts';
import { fillFromLastValid } from './fill-from-last-valid.ts';

/** Failures that need an edit of the source: faults, and missing signatures. */
const editOnlyFailures: readonly FailureKind[] = ['invalidInput', 'refusedByGuard'];

export interface LastValidSourceOptions {
  /** @throws Failure as `CycleOptions.readDesired` */
  readonly readDesired: () => Promise<DesiredSet>;
  /**
   * Reads what was applied last in the workspaces that are invalid now, from the records of earlier
   * processes. Used while this process has read no valid version itself.
   */
  readonly readApplied?: ((invalid: DesiredSet) => Promise<DesiredSet | null>) | undefined;
}

export interface ReadTerms {
  /** Whether the version may contain something new; an entirely invalid version then throws. */
  readonly isFresh: boolean;
  /** Whether invalid workspaces are filled from their last valid version. */
  readonly fillsIn: boolean;
}

/** The last valid version of the source, which stays in force while the newest one is invalid. */
export class LastValidSource {
  readonly #options: LastValidSourceOptions;
  #set: DesiredSet | null = null;
  /** The set that was returned last. */
  #read: DesiredSet | null = null;
  /**
   * Read from the records of an earlier process. It may lack workspaces, so it only fills some in.
   */
  #applied: DesiredSet | null = null;
  #signatures: string | undefined;
  #fault: Failure | null = null;
  /** The fault of the newest version while an earlier one replaces it; else null. */
  #failure: Failure | null = null;

  constructor(options: LastValidSourceOptions) {
    this.#options = options;
  }

  /** Forgets the valid version when the signing keys change: it may not satisfy the new ones. */
  forgetOnNewSignatures(signatures: string | undefined): void {
    if (signatures !== this.#signatures) [this.#set, this.#applied] = [null, null];
    this.#signatures = signatures;
  }

  /** Marks the set that was read last as applied. */
  markApplied(): void {
    this.#set = this.#read;
  }

  /** The fault of the newest version if `read` returned an earlier one instead; else null. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** @throws Failure as reading the source does, when no valid version can replace it */
  async read({ isFresh, fillsIn }: ReadTerms): Promise<DesiredSet> {
    this.#failure = null;
    try {
      const now = await this.#options.readDesired();
      this.#read = fillFromLastValid(now, await this.#before(now));
      return fillsIn ? this.#read : now;
    } catch (error) {
      const isWrong = error instanceof Failure && editOnlyFailures.includes(error.kind);
      if (isWrong) this.#fault = error;
      if (isFresh || !isWrong || this.#set === null) throw error;
      this.#failure = error;
      this.#read = this.#set;
      return this.#set;
    }
  }

  /** Returns whether only an edit of the source resolves the failure. */
  needsEdit(failure: Failure): boolean {
    return failure.kind === 'invalidInput' || failure === this.#fault;
  }

  async #before(now: DesiredSet): Promise<DesiredSet | null> {
    if (this.#set !== null || (now.faults ?? []).length === 0) return this.#set;
    this.#applied ??= (await this.#options.readApplied?.(now)) ?? null;
    return this.#applied;
  }
}
