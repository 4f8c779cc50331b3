/** Knows in which state the file of every key is: looks at the folder and asks the server. */
import { type DesiredResource, identityKey } from '../spec/resource-set.ts';
import type { KeyFileSet, KeyFiles, PendingFile } from './key-files.ts';
import type { Claim, Holder } from './key-proofs.ts';
import type { ValueFile } from './value-files.ts';

type KeyFileState =
  /** No file; the value cannot be read again. */
  | 'none'
  /** A pending file has the value. */
  | 'pending'
  /** Another file of the folder has the value. */
  | 'elsewhere'
  /** The file has the value. */
  | 'delivered'
  /** The file has the value before the last rotation, which ends. */
  | 'outdated'
  /** The file has another one. */
  | 'mismatch'
  /** There is a file, and this credential may not ask what it holds. */
  | 'unproven';

/** The file of one key that exists on the server. */
export interface KeyFile {
  /** Identity key. */
  readonly key: string;
  /** On the server. */
  readonly keyId: string;
  readonly path: string;
  readonly state: KeyFileState;
  /** What is wrong and the way out; null when nothing is. */
  readonly message: string | null;
}

/** One key with what lies in its place; `holder` is undefined where there is no file. */
export interface SurveyedKey {
  readonly desired: DesiredResource;
  readonly file: KeyFile;
  readonly holder: Holder | undefined;
  /** The pending file whose value is the key's. */
  readonly proven: PendingFile | null;
  /** The file that has the value, where that is neither in its place nor pending. */
  readonly elsewhere: ValueFile | null;
  /** Pending files whose value no key has. */
  readonly unclaimed: readonly PendingFile[];
}

/** A wanted key that exists. */
export interface ExistingKey {
  readonly desired: DesiredResource;
  readonly keyId: string;
}

/** By what values and files are judged. */
export interface SurveyContext {
  readonly files: KeyFiles;
  readonly findHolders: (claims: readonly Claim[]) => Promise<readonly Holder[] | null>;
  /** Whether the key of this id is of the same owner. */
  readonly isOwned: (keyId: string) => boolean;
}

export async function surveyKeys(
  keys: readonly ExistingKey[],
  context: SurveyContext,
): Promise<SurveyedKey[]> {
  const looked = await lookInPlace(keys, context);
  const lost = looked.filter(({ file, holder }) => {
    // What is in the place of a key is left alone, unless it is of another one of the same owner.
    const isTaken = file.state === 'mismatch' && holder != null && context.isOwned(holder.keyId);
    return file.state === 'none' || file.state === 'outdated' || isTaken;
  });
  if (lost.length === 0) return looked;
  const found = await lookElsewhere(context);
  return looked.map((key) => {
    const elsewhere = lost.includes(key) ? found.get(key.file.keyId) : undefined;
    return elsewhere === undefined ? key : foundElsewhere(key, elsewhere);
  });
}

/** The first file of each key whose value lies somewhere in the folder, by the key's id. */
async function lookElsewhere({
  files,
  findHolders,
}: SurveyContext): Promise<ReadonlyMap<string, ValueFile>> {
  const values = await files.list();
  const holders = await findHolders(values.map(({ value }) => ({ id: null, value })));
  const found = new Map<string, ValueFile>();
  for (const [at, holder] of (holders ?? []).entries()) {
    if (holder?.isCurrent && !found.has(holder.keyId)) found.set(holder.keyId, values[at]!);
  }
  return found;
}

function foundElsewhere(key: SurveyedKey, elsewhere: ValueFile): SurveyedKey {
  const { file } = key;
  const message = `the value of ${file.key} lies in ${elsewhere.path}; apply moves it to ${file.path}`;
  return { ...key, elsewhere, file: { ...file, state: 'elsewhere', message } };
}

async function lookInPlace(
  keys: readonly ExistingKey[],
  { files, findHolders }: SurveyContext,
): Promise<SurveyedKey[]> {
  const listed = new Map<string, Promise<string[]>>();
  const found = await Promise.all(
    keys.map(async (key) => ({ ...key, set: await files.read(key.desired, listed) })),
  );
  const claims = found.flatMap(({ keyId, set }) =>
    valuesOf(set).map((value) => ({ id: keyId, value })),
  );
  const holders = await findHolders(claims);
  let at = 0;
  return found.map(({ desired, keyId, set }) => {
    const count = valuesOf(set).length;
    const own = holders === null ? null : holders.slice(at, at + count);
    at += count;
    return surveyed(desired, keyId, set, own);
  });
}

function valuesOf({ delivered, pending }: KeyFileSet) {
  return [...(delivered === null ? [] : [delivered]), ...pending.map(({ value }) => value)];
}

function surveyed(
  desired: DesiredResource,
  keyId: string,
  { path, delivered, pending }: KeyFileSet,
  holders: readonly Holder[] | null,
): SurveyedKey {
  const offset = delivered === null ? 0 : 1;
  const holder = delivered === null ? undefined : (holders?.[0] ?? null);
  const proven = pending.find((_, at) => isValueOf(holders?.[at + offset], keyId)) ?? null;
  const unclaimed =
    holders === null ? [] : pending.filter((_, at) => holders[at + offset] === null);
  const state = stateOf({ keyId, holder, proven, mayAsk: holders !== null });
  const key = identityKey(desired.identity);
  const message = messageOf(state, { key, keyId, path, holder: holder ?? null });
  return {
    desired,
    holder,
    proven,
    unclaimed,
    elsewhere: null,
    file: { key, keyId, path, state, message },
  };
}

function stateOf(known: {
  keyId: string;
  holder: Holder | undefined;
  proven: PendingFile | null;
  mayAsk: boolean;
}): Exclude<KeyFileState, 'elsewhere'> {
  if (known.proven !== null) return 'pending';
  if (known.holder === undefined) return 'none';
  if (!known.mayAsk) return 'unproven';
  if (known.holder?.keyId !== known.keyId) return 'mismatch';
  return known.holder.isCurrent ? 'delivered' : 'outdated';
}

/** Whether a value is the one that the key has now. */
export function isValueOf(holder: Holder | undefined, keyId: string): boolean {
  return holder?.keyId === keyId && holder.isCurrent;
}

function messageOf(
  state: Exclude<KeyFileState, 'elsewhere'>,
  { key, keyId, path, holder }: { key: string; keyId: string; path: string; holder: Holder },
): string | null {
  const anew = 'or raise rotation.generation, which gives the key another value';
  switch (state) {
    case 'none':
      return `SecretMissing: ${key} exists on the server but ${path} does not, and the value cannot \
be read again. Bring the file back, from the folder of the run that made the key, ${anew}.`;
    case 'mismatch': {
      const truth =
        holder === null ? 'no key of this organisation has it' : `key ${holder.keyId} has it`;
      return `SecretMismatch: the value in ${path} is not that of ${key} (id ${keyId}): ${truth}. \
The file is left as it is. Put the right one there, ${anew}.`;
    }
    case 'outdated':
      return `SecretOutdated: the value in ${path} is the one before the last rotation of ${key}, and \
ends. Bring the file from the folder of the run that rotated it, or raise rotation.generation for another \
value.`;
    case 'pending':
      return `the value of ${key} waits in its .pending file; apply puts it in place`;
    case 'unproven':
      return `whether ${path} holds the value of ${key} cannot be told: the credential lacks the \
scope to update keys`;
    case 'delivered':
      return null;
  }
}
