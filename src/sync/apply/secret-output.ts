/** Knows how the value of an API key reaches its place: never lost, never another's, proven before it counts. */
/*
 * A key and its file are made in two places that cannot change at once. What holds them together is
 * an order of steps, one writer at a time, and a proof that asks the server, not the file's name. What is
 * said of files here holds for every sink: in a cluster a pending file is a Secret of its own, and so on.
 * From one sink to another a value is written as a pending one, put in its place and read back, before
 * it goes where it lay.
 *
 * States of one key's file, for a key that exists on the server:
 *
 *   none       no file, and no pending one whose value is the key's
 *   pending    a pending file proves itself: its value is the key's. It outranks whatever is delivered
 *   elsewhere  another file of the folder proves itself: the key was renamed or its path changed, and the
 *              file has not come along. It is moved; what is of another key of the owner in its place is
 *              kept aside, and found elsewhere in its turn
 *   delivered  the file proves itself
 *   mismatch   the file is there and is not the key's; it is somebody's, and is left alone
 *
 * Steps of a run, which holds the lease of its owner from before the first to after the last:
 *
 *   1  what left the source of truth: pending files of earlier runs. Their leases are over, so that the
 *      server refuses what they may still send; a value that no key has by now never will be one's, and
 *      its file is removed
 *   2  a value is made and written to `<path>.<owner>-<fence>.pending`: exclusively, flushed, folder too
 *   3  the key is created with it, under the fence
 *   4  the pending file takes its place. It never replaces a file in silence: one that is proven to be
 *      of the key this one replaces goes, any other keeps its value under `<path>.kept-<fence>`, and
 *      one that belongs to a key of somebody else stops the create before step 2
 *   5  what lies in the place is read back and proven; only then is the run a success
 *
 *   dies after   on disk           on the server   the next run of the owner
 *   2            pending           no key          removes it (1) and begins anew
 *   3            pending           the key         proves it and goes on with 4
 *   4            the file          the key         finds it delivered
 *
 * An answer that is lost after 3 is a create that is refused when it is sent again: the pending value
 * then proves whether the key that is there is the run's own. If it is, the run goes on with 4; if not,
 * the run removes the pending file that it wrote, and fails. Of two runs with folders of their own the
 * second finds the key made and its own folder without the value: it ends with a failure that names file
 * and key. A run that slept through its lease is refused at 3, because the fence is compared in the
 * transaction that would make the key. Two writers never share a pending file: its name has the fence.
 *
 * The files of a key that is deleted go with it: before the delete each gets a second name,
 * `<path>.<owner>-<fence>.leaving`, and once the key is gone both names are removed. A run that dies in
 * between leaves the second names, by which the next one asks whether the key is gone.
 *
 * Where this credential may not ask for proofs nothing is removed and nothing counts as delivered.
 */
import { Failure } from '../../failure.ts';
import { makeApiKey } from '../../model/people/credentials.ts';
import type { Secret } from '../../secret.ts';
import { type DesiredResource, identityKey } from '../resources/resource-set.ts';
import type { PendingValue, StoredValue, ValueSet } from '../sinks/sink.ts';
import type { Sinks } from '../sinks/sinks.ts';
import { KeyDeletion } from './key-deletion.ts';
import type { Claim, Holder } from './key-proofs.ts';
import { isValueOf, type SurveyedKey, surveyKeys } from './key-survey.ts';

export interface OutputContext {
  readonly sinks: Sinks;
  /** Of the lease that is held. */
  readonly fence: number;
  /** New values begin with it, as those do that the server makes. */
  readonly keyPrefix: string;
  readonly findHolders: (claims: readonly Claim[]) => Promise<readonly Holder[] | null>;
  /** Identity keys by id of the keys that this owner has on the server. */
  readonly owned: ReadonlyMap<string, string>;
}

/** What publishing finds in its place, and whether it outlives that. */
interface Occupant {
  readonly value: Secret;
  readonly isKept: boolean;
}

/** The delivery of one new key, from the pending value on. */
export interface Delivery {
  readonly value: Secret;
  /** Whether the key of this id has the value; null when nobody may say. */
  isOf(keyId: string): Promise<boolean | null>;
  /** Puts the value in its place; for once the key exists. */
  deliver(): Promise<void>;
  /** Removes the value; for once it is certain that no key has it. */
  abandon(): Promise<void>;
}

export class SecretOutput {
  /** What people should know of, in the order in which it happened. */
  readonly warnings: string[] = [];
  readonly #context: OutputContext;
  readonly deletion: KeyDeletion;

  constructor(context: OutputContext) {
    this.#context = context;
    this.deletion = new KeyDeletion(context);
  }

  /**
   * Makes a value, safe in its sink once this returns.
   *
   * @param replacedId the key whose value in the place the new one replaces, or null
   * @throws Failure when the place is not permitted, cannot be written, or is somebody else's
   */
  async prepare(desired: DesiredResource, replacedId: string | null): Promise<Delivery> {
    const { sinks, fence, keyPrefix, findHolders } = this.#context;
    const { delivered, pending } = await this.#read(desired);
    const values = [...(delivered === null ? [] : [delivered]), ...pending.map((one) => one.value)];
    const holders = await findHolders(values.map((value) => ({ id: null, value })));
    const holder = holders === null ? null : holders[0]!;
    const occupant =
      delivered === null ? null : this.#occupant(desired, delivered, holder, replacedId);
    const offset = delivered === null ? 0 : 1;
    if (holders !== null) {
      const unheld = pending.filter((_, at) => holders[at + offset] === null);
      await discardBefore(fence, unheld);
    }
    // One of this lease is of a cycle before, of which a request may be under way still: with the same value it makes no other key.
    const own = pending.find((one, at) => one.fence === fence && !holders?.[at + offset]);
    const sink = sinks.of(desired);
    const written = own ?? (await sink.writePending(desired, fence, makeApiKey(keyPrefix)));
    return {
      value: written.value,
      isOf: async (keyId) => {
        const found = await findHolders([{ id: keyId, value: written.value }]);
        return found === null ? null : isValueOf(found[0], keyId);
      },
      deliver: () => this.#publish(desired, written, occupant),
      abandon: () => written.sink.discard(written),
    };
  }

  /** What lies in the place of a key, where that is the value that it has now; null for anything else. */
  async findDelivered(desired: DesiredResource, keyId: string): Promise<Secret | null> {
    const { delivered } = await this.#read(desired);
    if (delivered === null) return null;
    const holders = await this.#context.findHolders([{ id: keyId, value: delivered }]);
    return isValueOf(holders?.[0], keyId) ? delivered : null;
  }

  /** Whether this credential is told whose a value is. */
  async mayProve(value: Secret): Promise<boolean> {
    return (await this.#context.findHolders([{ id: null, value }])) !== null;
  }

  /** For people. @throws Failure when it is not permitted */
  placeOf(desired: DesiredResource): string {
    return this.#context.sinks.of(desired).placeOf(desired);
  }

  /** Finishes what earlier runs have left of a key that exists, and moves its value to where it belongs; why it could not is a warning. */
  async settle(key: SurveyedKey): Promise<void> {
    try {
      await this.#settle(key);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.warnings.push(error.message);
    }
  }

  async #settle(key: SurveyedKey): Promise<void> {
    const { desired, delivery, delivered, proven, holder, unclaimed, elsewhere } = key;
    if (elsewhere !== null) await this.#bring(key, elsewhere);
    else if (proven !== null && delivery.state === 'pending') {
      if (isValueOf(holder, delivery.keyId)) await proven.sink.discard(proven);
      else {
        const occupant =
          delivered === null
            ? null
            : this.#occupant(desired, delivered, holder ?? null, delivery.keyId);
        await this.#publish(desired, proven, occupant);
      }
    }
    await discardBefore(this.#context.fence, unclaimed);
  }

  /** Takes the value of a renamed key along. */
  async follow(desired: DesiredResource, keyId: string): Promise<void> {
    const { sinks, findHolders, owned } = this.#context;
    const isOwned = (id: string): boolean => owned.has(id);
    const [key] = await surveyKeys([{ desired, keyId }], { sinks, findHolders, isOwned });
    await this.settle(key!);
  }

  async #read(desired: DesiredResource): Promise<ValueSet> {
    const [set] = await this.#context.sinks.read([desired]);
    if (set instanceof Failure) throw set;
    return set!;
  }

  /** Nothing where the value has given way to another's meanwhile: it is kept aside, to be found anew. */
  async #bring({ desired, delivery: { keyId } }: SurveyedKey, from: StoredValue): Promise<void> {
    if (!(await from.sink.holds(from))) return;
    const { delivered } = await this.#read(desired);
    if (delivered === null) return this.#publish(desired, from, null);
    const holders = await this.#context.findHolders([{ id: keyId, value: delivered }]);
    if (holders === null || isValueOf(holders[0], keyId)) return;
    await this.#publish(desired, from, this.#occupant(desired, delivered, holders[0]!, keyId));
  }

  #occupant(
    desired: DesiredResource,
    value: Secret,
    holder: Holder,
    replacedId: string | null,
  ): Occupant {
    if (holder === null) return { value, isKept: true };
    if (holder.keyId === replacedId) return { value, isKept: false };
    if (this.#context.owned.has(holder.keyId)) return { value, isKept: true };
    throw takenByAnother(desired, this.placeOf(desired), holder.keyId);
  }

  async #publish(
    desired: DesiredResource,
    from: StoredValue,
    occupant: Occupant | null,
  ): Promise<void> {
    const { sinks, fence } = this.#context;
    const sink = sinks.of(desired);
    if (occupant?.isKept === true) {
      const aside = await sink.keepAside(desired, fence);
      const key = identityKey(desired.identity);
      this.warnings.push(
        `${sink.placeOf(desired)} held a value that is not of ${key}; it is kept in ${aside}`,
      );
    }
    const over = occupant?.value ?? null;
    if (from.sink === sink) return sink.publish(desired, from, over);
    const value = from.value.reveal();
    await sink.publish(desired, await sink.writePending(desired, fence, value), over);
    // Where it lay before it goes only once it is read back from where it lies now.
    const { delivered } = await this.#read(desired);
    if (delivered?.reveal() === value) await from.sink.discard(from);
  }
}

/** Only of runs that are shut out: what this one has written it still needs. */
async function discardBefore(fence: number, pending: readonly PendingValue[]): Promise<void> {
  for (const one of pending) if (one.fence < fence) await one.sink.discard(one);
}

function takenByAnother(desired: DesiredResource, place: string, keyId: string): Failure {
  const { file, line, column } = desired.position;
  return new Failure(
    'invalidInput',
    `${file}:${line}:${column}: ${place} holds the value of another key (id ${keyId}), which is not yours; \
move it away, or give ${identityKey(desired.identity)} another secretOutput`,
  );
}
