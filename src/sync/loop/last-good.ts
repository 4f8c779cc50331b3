/** Knows the last version of a source that was right, whole or in a workspace, and which failures only an edit mends. */
import { Failure, type FailureKind } from '../../failure.ts';
import type { DesiredSet } from '../resources/resource-set.ts';
import { withLastSound } from './last-sound.ts';

/** Faults in what the source says, and signatures that it lacks. */
const onlyAnEditMends: readonly FailureKind[] = ['invalidInput', 'refusedByGuard'];

export interface LastGoodOptions {
  /** @throws Failure as `CycleOptions.readDesired` */
  readonly readDesired: () => Promise<DesiredSet>;
  /**
   * What was applied last where this version is wrong, as far as somebody else has kept it; for a process
   * that has read nothing better itself.
   */
  readonly readApplied?: ((wrong: DesiredSet) => Promise<DesiredSet | null>) | undefined;
}

export interface Reading {
  /** The version may hold something that was not applied: one that is wrong as a whole is told. */
  readonly isFresh: boolean;
  /** Where it is wrong in some workspaces, what was right there before counts. */
  readonly fillsIn: boolean;
}

/** The last version that was right; where the source is wrong now it still counts. */
export class LastGood {
  readonly #options: LastGoodOptions;
  #set: DesiredSet | null = null;
  /** As it was given out last. */
  #read: DesiredSet | null = null;
  /** What this process did not read itself; only for workspaces, because it may lack others. */
  #applied: DesiredSet | null = null;
  #signatures: string | undefined;
  #fault: Failure | null = null;
  /** Why an earlier version stands for the newest; null where that could be read. */
  #wrong: Failure | null = null;

  constructor(options: LastGoodOptions) {
    this.#options = options;
  }

  /** What was right by the keys of before need not be so by those that count now. */
  see(signatures: string | undefined): void {
    if (signatures !== this.#signatures) [this.#set, this.#applied] = [null, null];
    this.#signatures = signatures;
  }

  /** What was read last has been applied. */
  keep(): void {
    this.#set = this.#read;
  }

  /** What is wrong with the version that was asked for last, where an earlier one was given out; else null. */
  get wrong(): Failure | null {
    return this.#wrong;
  }

  /** @throws Failure as reading the source, where nothing that was right can stand for it */
  async read({ isFresh, fillsIn }: Reading): Promise<DesiredSet> {
    this.#wrong = null;
    try {
      const now = await this.#options.readDesired();
      this.#read = withLastSound(now, await this.#before(now));
      return fillsIn ? this.#read : now;
    } catch (error) {
      const isWrong = error instanceof Failure && onlyAnEditMends.includes(error.kind);
      if (isWrong) this.#fault = error;
      if (isFresh || !isWrong || this.#set === null) throw error;
      this.#wrong = error;
      this.#read = this.#set;
      return this.#set;
    }
  }

  /** Whether only an edit of the source mends it. */
  lacks(failure: Failure): boolean {
    return failure.kind === 'invalidInput' || failure === this.#fault;
  }

  async #before(now: DesiredSet): Promise<DesiredSet | null> {
    if (this.#set !== null || (now.faults ?? []).length === 0) return this.#set;
    this.#applied ??= (await this.#options.readApplied?.(now)) ?? null;
    return this.#applied;
  }
}
