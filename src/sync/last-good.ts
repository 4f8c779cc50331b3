/** Knows the last version of a source that was right, and which of its failures only an edit mends. */
import { Failure, type FailureKind } from '../failure.ts';
import type { DesiredSet } from './spec/resource-set.ts';

/** Faults in what the source says, and signatures that it lacks. */
const onlyAnEditMends: readonly FailureKind[] = ['invalidInput', 'refusedByGuard'];

/** The last version that was right; in a drift pass over a source that is wrong now it still counts. */
export class LastGood {
  #set: DesiredSet | null = null;
  /** As it was given out last. */
  #read: DesiredSet | null = null;
  #signatures: string | undefined;
  #fault: Failure | null = null;

  /** What was right by the keys of before need not be so by those that count now. */
  see(signatures: string | undefined): void {
    if (signatures !== this.#signatures) this.#set = null;
    this.#signatures = signatures;
  }

  /** What was read last has been applied. */
  keep(): void {
    this.#set = this.#read;
  }

  async read(readDesired: () => Promise<DesiredSet>, isFresh: boolean): Promise<DesiredSet> {
    try {
      this.#read = await readDesired();
      return this.#read;
    } catch (error) {
      const isWrong = error instanceof Failure && onlyAnEditMends.includes(error.kind);
      if (isWrong) this.#fault = error;
      if (isFresh || !isWrong || this.#set === null) throw error;
      this.#read = this.#set;
      return this.#set;
    }
  }

  /** Whether only an edit of the source mends it. */
  lacks(failure: Failure): boolean {
    return failure.kind === 'invalidInput' || failure === this.#fault;
  }
}
