/**
 * Delivers the value of an API key to its sink: never lost, never mixed up, proven before it
 * counts.
 */
/*
 * A key and its file are created in two systems that cannot change together. An order of steps, a
 * single writer, and a proof by the server rather than by file names keep them consistent. All of this
 * holds for every sink: in a cluster a pending file is a Secret of its own, for
 * example. Between sinks a value is written as pending, put in its place and read back before the
 * old copy is removed.
 *
 * States of the file of a key that exists on the server:
 *
 *   none       no file, and no pending file with the value of the key
 *   pending    the value of a pending file is the key's; it takes precedence over a delivered one
 *   elsewhere  another file of the folder has the value of the key: the key was renamed or its path
 *              changed, and the file was not moved. It is moved now. A value of another key of the
 *              owner in its place is kept aside, and found as `elsewhere` in turn
 *   delivered  the file has the value of the key
 *   mismatch   the file has another value; it belongs to somebody else and is left alone
 *
 * Steps of a run, which holds the owner's lease throughout:
 *
 *   1  pending files of earlier runs are swept. Their leases are over, so the server refuses what
 * they
 *      may still send. A value that no key has now never becomes one, and its file is removed
 *   2  a value is generated and written to `<path>.<owner>-<fence>.pending`: exclusively, with file
 *      and folder flushed
 *   3  the key is created with it, under the fence
 *   4  the pending file takes its place. It never silently replaces a file: one that provably
 * belongs
 *      to the replaced key is removed, any other is kept as `<path>.kept-<fence>`, and one of a key
 *      of another owner stops the create before step 2
 *   5  the value is read back and proven; only then is the run a success
 *
 *   dies after   on disk           on the server   the next run of the owner
 *   2            pending           no key          removes it (1) and starts again
 *   3            pending           the key         proves it and continues with 4
 *   4            the file          the key         finds it delivered
 *
 * If the response to 3 is lost, the repeated create is refused. The pending value then proves
 * whether the existing key is the run's own. If so, the run continues with 4; if not, it removes
 * its pending file and fails. With separate folders, the second of two runs finds the key but not
 * the value in its folder, and fails with a message that names file and key. A run that slept
 * through its lease is refused at 3, because the fence is compared in the transaction that creates
 * the key. Two writers never share a pending file, because its name contains the fence.
 *
 * The files of a deleted key are deleted with it. Before the delete each gets a second name,
 * `<path>.<owner>-<fence>.leaving`; when the key is gone both names are removed. A run that dies in
 * between leaves the second names, from which the next run checks whether the key is gone.
 *
 * Where this credential may not ask for proofs, nothing is removed and nothing counts as delivered.
 */
import { Failure } from '../../failure.ts';
import { makeApiKey } from '../../model/people/credentials.ts';
import type { Secret } from '../../secret.ts';
import { type DesiredResource, identityKey } from '../resources/resource-set.ts';
import type { SinkSet } from '../sinks/sink-set.ts';
import type { PendingValue, SinkValue, ValueSet } from '../sinks/value-sink.ts';
import { KeyDeletion } from './key-deletion.ts';
import type { KeyClaim, KeyHolder } from './key-proofs.ts';
import { isValueOf, type SurveyedKey, surveyKeys } from './key-survey.ts';

export interface OutputContext {
  readonly sinks: SinkSet;
  /** The fence of the lease that is held. */
  readonly fence: number;
  /** Prefix of new values, the same as for values that the server generates. */
  readonly keyPrefix: string;
  readonly findHolders: (claims: readonly KeyClaim[]) => Promise<readonly KeyHolder[] | null>;
  /** Identity keys by id of the keys that this owner has on the server. */
  readonly owned: ReadonlyMap<string, string>;
}

/** The value found in a place by a delivery, and whether it must be preserved. */
interface Occupant {
  readonly value: Secret;
  readonly isPreserved: boolean;
}

/** The delivery of one new key, from the pending value on. */
export interface Delivery {
  readonly value: Secret;
  /** Whether the key with this id has the value; null when this credential may not ask. */
  isOf(keyId: string): Promise<boolean | null>;
  /** Puts the value in its place; to be called when the key exists. */
  deliver(): Promise<void>;
  /** Removes the value; to be called when certainly no key has it. */
  abandon(): Promise<void>;
}

export class SecretOutput {
  /** Warnings for people, in the order of occurrence. */
  readonly warnings: string[] = [];
  readonly #context: OutputContext;
  readonly deletion: KeyDeletion;

  constructor(context: OutputContext) {
    this.#context = context;
    this.deletion = new KeyDeletion(context);
  }

  /**
   * Generates a value, which is stored safely in its sink when this returns.
   *
   * @param replacedId the replaced key, whose value may be overwritten; null for none
   * @throws Failure when the place is not permitted, cannot be written, or belongs to somebody else
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
    // A pending value of this lease comes from an earlier cycle whose request may still be in
    // flight; sending the same value again creates no second key.
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

  /** Returns the value in a key's place if it is the current one; null otherwise. */
  async findDelivered(desired: DesiredResource, keyId: string): Promise<Secret | null> {
    const { delivered } = await this.#read(desired);
    if (delivered === null) return null;
    const holders = await this.#context.findHolders([{ id: keyId, value: delivered }]);
    return isValueOf(holders?.[0], keyId) ? delivered : null;
  }

  /** Returns whether this credential may ask whose a value is. */
  async mayProve(value: Secret): Promise<boolean> {
    return (await this.#context.findHolders([{ id: null, value }])) !== null;
  }

  /** Describes the place for people. @throws Failure when it is not permitted */
  placeOf(desired: DesiredResource): string {
    return this.#context.sinks.of(desired).placeOf(desired);
  }

  /**
   * Completes the delivery of an existing key that earlier runs left unfinished, and moves its
   * value to its place. Failures become warnings.
   */
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

  /** Moves the value of a renamed key. */
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

  /** Does nothing if the value has been moved aside for another one; the next survey finds it. */
  async #bring({ desired, delivery: { keyId } }: SurveyedKey, from: SinkValue): Promise<void> {
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
    holder: KeyHolder,
    replacedId: string | null,
  ): Occupant {
    if (holder === null) return { value, isPreserved: true };
    if (holder.keyId === replacedId) return { value, isPreserved: false };
    if (this.#context.owned.has(holder.keyId)) return { value, isPreserved: true };
    throw takenByAnother(desired, this.placeOf(desired), holder.keyId);
  }

  async #publish(
    desired: DesiredResource,
    from: SinkValue,
    occupant: Occupant | null,
  ): Promise<void> {
    const { sinks, fence } = this.#context;
    const sink = sinks.of(desired);
    if (occupant?.isPreserved === true) {
      const aside = await sink.keepAside(desired, fence);
      this.warnings.push(asideWarning(desired, sink.placeOf(desired), aside));
    }
    const over = occupant?.value ?? null;
    if (from.sink === sink) return sink.publish(desired, from, over);
    const value = from.value.reveal();
    await sink.publish(desired, await sink.writePending(desired, fence, value), over);
    // The old copy is removed only after the new one has been read back.
    const { delivered } = await this.#read(desired);
    if (delivered?.reveal() === value) await from.sink.discard(from);
  }
}

/** Only values of runs that lost the lease are removed; this run still needs its own. */
async function discardBefore(fence: number, pending: readonly PendingValue[]): Promise<void> {
  for (const one of pending) if (one.fence < fence) await one.sink.discard(one);
}

function asideWarning({ identity }: DesiredResource, place: string, aside: string): string {
  return `${place} held a value that is not of ${identityKey(identity)}; it is kept in ${aside}`;
}

function takenByAnother(desired: DesiredResource, place: string, keyId: string): Failure {
  const { file, line, column } = desired.position;
  return new Failure(
    'invalidInput',
    `${file}:${line}:${column}: ${place} has the value of another key (id ${keyId}), which is not yours; \
move it away, or give ${identityKey(desired.identity)} another secretOutput`,
  );
}
