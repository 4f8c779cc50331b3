/** Knows how a key is deleted with its values: not before it is gone, and never one of a key that stays. */
import { Failure } from '../../failure.ts';
import { ApiRefusal } from '../server/refusal.ts';
import type { LeavingValue, StoredValue } from '../sinks/sink.ts';
import type { Sinks } from '../sinks/sinks.ts';
import type { Claim, Holder } from './key-proofs.ts';
import { Stale } from './stale.ts';

export interface DeletionContext {
  readonly sinks: Sinks;
  /** Of the lease that is held. */
  readonly fence: number;
  readonly findHolders: (claims: readonly Claim[]) => Promise<readonly Holder[] | null>;
}

export class KeyDeletion {
  readonly #context: DeletionContext;
  /** By the key whose value they are; looked for once a run, by the first deletion. */
  #storedByKey: Promise<Map<string, StoredValue[]>> | null = null;

  constructor(context: DeletionContext) {
    this.#context = context;
  }

  /**
   * Deletes the key of this id by `remove`, and then every value of it. They are marked before, so that
   * the next run knows of them should this one die.
   *
   * @throws Failure when a sink cannot be asked: what is there would outlive its key
   */
  async delete(keyId: string, remove: () => Promise<void>): Promise<void> {
    const { fence } = this.#context;
    this.#storedByKey ??= this.#findStored();
    const stored = (await this.#storedByKey).get(keyId) ?? [];
    const marked = await Promise.all(stored.map((one) => one.sink.markLeaving(one, fence)));
    const all = async (end: (one: LeavingValue) => Promise<void>): Promise<void> => {
      await Promise.all(marked.map(end));
    };
    try {
      await remove();
    } catch (error) {
      // Where it may be gone the marks stay, and the next run asks.
      const isThere = error instanceof Stale || (error instanceof ApiRefusal && !error.maybeDone);
      if (isThere) await all((one) => one.sink.unmark(one));
      throw error;
    }
    await all((one) => one.sink.removeLeft(one));
  }

  /**
   * Ends what earlier runs have begun to delete: values of keys that are gone go, the others stay.
   * Yields why some could not be.
   */
  async sweep(): Promise<string[]> {
    const { sinks, fence, findHolders } = this.#context;
    const marked = (await sinks.listLeaving()).found.filter((one) => one.fence < fence);
    const holders = await findHolders(marked.map(({ value }) => ({ id: null, value })));
    const failures: string[] = [];
    for (const [at, one] of marked.entries()) {
      const holder = holders?.[at];
      if (holder === undefined) continue;
      try {
        await (holder === null ? one.sink.removeLeft(one) : one.sink.unmark(one));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        failures.push(error.message);
      }
    }
    return failures;
  }

  async #findStored(): Promise<Map<string, StoredValue[]>> {
    const { sinks, findHolders } = this.#context;
    const { found, failures } = await sinks.list();
    if (failures[0] !== undefined) throw failures[0];
    const holders = (await findHolders(found.map(({ value }) => ({ id: null, value })))) ?? [];
    const byKey = new Map<string, StoredValue[]>();
    for (const [at, holder] of holders.entries()) {
      if (holder === null) continue;
      byKey.set(holder.keyId, [...(byKey.get(holder.keyId) ?? []), found[at]!]);
    }
    return byKey;
  }
}
