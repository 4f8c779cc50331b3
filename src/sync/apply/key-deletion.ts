/** Deletes a key together with its stored values, and never the value of a key that remains. */
import { Failure } from '../../failure.ts';
import { ApiRefusal } from '../server/refusal.ts';
import type { SinkSet } from '../sinks/sink-set.ts';
import type { LeavingValue, SinkValue } from '../sinks/value-sink.ts';
import type { KeyClaim, KeyHolder } from './key-proofs.ts';
import { StaleResourceError } from './stale-resource-error.ts';

export interface DeletionContext {
  readonly sinks: SinkSet;
  /** The fence of the lease that is held. */
  readonly fence: number;
  readonly findHolders: (claims: readonly KeyClaim[]) => Promise<readonly KeyHolder[] | null>;
}

export class KeyDeletion {
  readonly #context: DeletionContext;
  /** Stored values by the id of their key; read once a run, by the first deletion. */
  #storedByKey: Promise<Map<string, SinkValue[]>> | null = null;

  constructor(context: DeletionContext) {
    this.#context = context;
  }

  /**
   * Deletes the key with `remove`, then all its values. They are marked first, so that the next run
   * finds them if this one dies.
   *
   * @throws Failure when a sink cannot be read: its value would outlive the key
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
      // When the key may be gone, the marks stay for the next run.
      const isThere =
        error instanceof StaleResourceError || (error instanceof ApiRefusal && !error.maybeDone);
      if (isThere) await all((one) => one.sink.unmark(one));
      throw error;
    }
    await all((one) => one.sink.removeLeft(one));
  }

  /**
   * Completes deletions that earlier runs began: removes values of deleted keys, unmarks the
   * others. Returns why some could not be.
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

  async #findStored(): Promise<Map<string, SinkValue[]>> {
    const { sinks, findHolders } = this.#context;
    const { found, failures } = await sinks.list();
    if (failures[0] !== undefined) throw failures[0];
    const holders = (await findHolders(found.map(({ value }) => ({ id: null, value })))) ?? [];
    const byKey = new Map<string, SinkValue[]>();
    for (const [at, holder] of holders.entries()) {
      if (holder === null) continue;
      byKey.set(holder.keyId, [...(byKey.get(holder.keyId) ?? []), found[at]!]);
    }
    return byKey;
  }
}
