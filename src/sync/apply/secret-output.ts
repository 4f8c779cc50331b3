/** Knows how the value of an API key reaches its file: never lost, never another's, proven before it counts. */
/*
 * A key and its file are made in two places that cannot change at once. What holds them together is
 * an order of steps, one writer at a time, and a proof that asks the server, not the file's name.
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
import { makeApiKey } from '../../model/credentials.ts';
import type { Secret } from '../../secret.ts';
import { type DesiredResource, identityKey } from '../spec/resource-set.ts';
import type { KeyFiles, PendingFile } from './key-files.ts';
import type { Claim, Holder } from './key-proofs.ts';
import { isValueOf, type SurveyedKey, surveyKeys } from './key-survey.ts';
import { type LeavingFile, removeLeft, unmark } from './leaving-files.ts';
import { holdsValue, type ValueFile } from './value-files.ts';

export interface OutputContext {
  readonly files: KeyFiles;
  /** Of the lease that is held. */
  readonly fence: number;
  /** New values begin with it, as those do that the server makes. */
  readonly keyPrefix: string;
  readonly findHolders: (claims: readonly Claim[]) => Promise<readonly Holder[] | null>;
  /** Identity keys by id of the keys that this owner has on the server. */
  readonly owned: ReadonlyMap<string, string>;
}

/** What publishing finds in its place, and so what becomes of it. */
type Occupant = 'nothing' | 'dead' | 'kept';

/** The delivery of one new key, from the pending file on. */
export interface Delivery {
  readonly value: Secret;
  /** Whether the key of this id has the value; null when nobody may say. */
  isOf(keyId: string): Promise<boolean | null>;
  /** Puts the value in its place; for once the key exists. */
  deliver(): Promise<void>;
  /** Removes the value; for once it is certain that no key has it. */
  abandon(): Promise<void>;
}

/** The files of a key that is about to be deleted. */
export interface Leave {
  /** For once the key is gone. */
  remove(): Promise<void>;
  /** For a key that stays after all. */
  keep(): Promise<void>;
}

export class SecretOutput {
  /** What people should know of, in the order in which it happened. */
  readonly warnings: string[] = [];
  readonly #context: OutputContext;
  /** Files by the key whose value they hold; looked for once a run, by the first deletion. */
  #filesByKey: Promise<Map<string, ValueFile[]>> | null = null;

  constructor(context: OutputContext) {
    this.#context = context;
  }

  /**
   * Makes a value, safe on disk once this returns.
   *
   * @param replacedId the key whose value in the file the new one replaces, or null
   * @throws Failure when the file lies outside the folder, cannot be written, or is somebody else's
   */
  async prepare(desired: DesiredResource, replacedId: string | null): Promise<Delivery> {
    const { files, fence, keyPrefix, findHolders } = this.#context;
    const { delivered, pending } = await files.read(desired);
    const values = [...(delivered === null ? [] : [delivered]), ...pending.map((one) => one.value)];
    const holders = await findHolders(values.map((value) => ({ id: null, value })));
    const occupant =
      delivered === null
        ? 'nothing'
        : this.#occupant(desired, holders === null ? null : holders[0]!, replacedId);
    if (holders !== null) {
      const offset = delivered === null ? 0 : 1;
      await this.#discard(pending.filter((_, at) => holders[at + offset] === null));
    }
    const written = await files.writePending(desired, fence, makeApiKey(keyPrefix));
    return {
      value: written.value,
      isOf: async (keyId) => {
        const found = await findHolders([{ id: keyId, value: written.value }]);
        return found === null ? null : isValueOf(found[0], keyId);
      },
      deliver: () => this.#publish(desired, written, occupant),
      abandon: () => files.discard(written),
    };
  }

  /** What lies in the place of a key, where that is the value that it has now; null for anything else. */
  async findDelivered(desired: DesiredResource, keyId: string): Promise<Secret | null> {
    const { files, findHolders } = this.#context;
    const { delivered } = await files.read(desired);
    if (delivered === null) return null;
    const holders = await findHolders([{ id: keyId, value: delivered }]);
    return isValueOf(holders?.[0], keyId) ? delivered : null;
  }

  /** Whether this credential is told whose a value is. */
  async mayProve(value: Secret): Promise<boolean> {
    return (await this.#context.findHolders([{ id: null, value }])) !== null;
  }

  /** Absolute. @throws Failure when it would lie outside the folder */
  pathOf(desired: DesiredResource): string {
    return this.#context.files.pathOf(desired);
  }

  /** Finishes what earlier runs have left of a key that exists, and moves its file to where it belongs. */
  async settle(key: SurveyedKey): Promise<void> {
    const { desired, file, proven, holder, unclaimed, elsewhere } = key;
    if (elsewhere !== null) await this.#bring(key, elsewhere);
    else if (proven !== null && file.state === 'pending') {
      if (holder === undefined) await this.#publish(desired, proven, 'nothing');
      else if (isValueOf(holder, file.keyId)) await this.#context.files.discard(proven);
      else await this.#publish(desired, proven, this.#occupant(desired, holder, file.keyId));
    }
    await this.#discard(unclaimed);
  }

  /** Marks every file with a value of the key, so that the next run knows of them should this one die. */
  async leave(keyId: string): Promise<Leave> {
    const { files, fence, findHolders } = this.#context;
    this.#filesByKey ??= filesByKey(await files.list(), findHolders);
    const marked = await files.markLeaving((await this.#filesByKey).get(keyId) ?? [], fence);
    const all = async (end: (one: LeavingFile) => Promise<void>): Promise<void> => {
      await Promise.all(marked.map(end));
    };
    return { remove: () => all(removeLeft), keep: () => all(unmark) };
  }

  /** Ends what earlier runs have begun to delete: files of keys that are gone go, the others stay. */
  async sweep(): Promise<void> {
    const { files, fence, findHolders } = this.#context;
    const marked = (await files.listLeaving()).filter((one) => one.fence < fence);
    const holders = await findHolders(marked.map(({ value }) => ({ id: null, value })));
    for (const [at, one] of marked.entries()) {
      const holder = holders?.[at];
      if (holder === null) await removeLeft(one);
      else if (holder !== undefined) await unmark(one);
    }
  }

  /** Takes the file of a renamed key along. */
  async follow(desired: DesiredResource, keyId: string): Promise<void> {
    const { files, findHolders, owned } = this.#context;
    const isOwned = (id: string): boolean => owned.has(id);
    const [key] = await surveyKeys([{ desired, keyId }], { files, findHolders, isOwned });
    await this.settle(key!);
  }

  /** Nothing where the file has given way to another's meanwhile: the value is kept aside, to be found anew. */
  async #bring({ desired, file }: SurveyedKey, from: ValueFile): Promise<void> {
    const { files, findHolders } = this.#context;
    if (!(await holdsValue(from))) return;
    const { delivered } = await files.read(desired);
    const holders =
      delivered === null ? [] : await findHolders([{ id: file.keyId, value: delivered }]);
    if (holders === null || isValueOf(holders[0], file.keyId)) return;
    const occupant =
      delivered === null ? 'nothing' : this.#occupant(desired, holders[0]!, file.keyId);
    await this.#publish(desired, from, occupant);
  }

  /** @throws Failure for the value of a key that is somebody else's */
  #occupant(desired: DesiredResource, holder: Holder, replacedId: string | null): Occupant {
    if (holder === null) return 'kept';
    if (holder.keyId === replacedId) return 'dead';
    if (this.#context.owned.has(holder.keyId)) return 'kept';
    const path = this.#context.files.pathOf(desired);
    const { file, line, column } = desired.position;
    throw new Failure(
      'invalidInput',
      `${file}:${line}:${column}: ${path} holds the value of another key (id ${holder.keyId}), which is \
not yours; move the file away, or give ${identityKey(desired.identity)} another secretOutput path`,
    );
  }

  async #publish(desired: DesiredResource, from: ValueFile, over: Occupant): Promise<void> {
    const { files, fence } = this.#context;
    if (over === 'nothing') return files.publish(desired, from);
    if (over === 'kept') {
      const aside = await files.keepAside(desired, fence);
      const key = identityKey(desired.identity);
      this.warnings.push(
        `${files.pathOf(desired)} held a value that is not of ${key}; it is kept in ${aside}`,
      );
    }
    return files.publishOver(desired, from);
  }

  /** Only of runs that are shut out: what this one has written it still needs. */
  async #discard(pending: readonly PendingFile[]): Promise<void> {
    const { files, fence } = this.#context;
    for (const one of pending) if (one.fence < fence) await files.discard(one);
  }
}

async function filesByKey(
  found: readonly ValueFile[],
  findHolders: OutputContext['findHolders'],
): Promise<Map<string, ValueFile[]>> {
  const holders = (await findHolders(found.map(({ value }) => ({ id: null, value })))) ?? [];
  const byKey = new Map<string, ValueFile[]>();
  for (const [at, holder] of holders.entries()) {
    if (holder !== null) byKey.set(holder.keyId, [...(byKey.get(holder.keyId) ?? []), found[at]!]);
  }
  return byKey;
}
