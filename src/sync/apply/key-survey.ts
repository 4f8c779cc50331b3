/** Determines the delivery state of every key from its sink and from the server. */
import { Failure } from '../../failure.ts';
import type { Secret } from '../../secret.ts';
import { type DesiredResource, identityKey } from '../resources/resource-set.ts';
import { targetText } from '../resources/secret-target.ts';
import type { SinkSet } from '../sinks/sink-set.ts';
import type { PendingValue, SinkValue, ValueSet } from '../sinks/value-sink.ts';
import type { KeyClaim, KeyHolder } from './key-proofs.ts';

type DeliveryState =
  /** No value is in the place, and the server never shows it again. */
  | 'none'
  /** A pending value belongs to the key. */
  | 'pending'
  /** The value is in another place. */
  | 'elsewhere'
  /** The value is in its place. */
  | 'delivered'
  /** The place contains the value before the last rotation, which expires. */
  | 'outdated'
  /** The place contains another value. */
  | 'mismatch'
  /** The place contains a value that this credential may not verify. */
  | 'unproven'
  /** The place cannot be read. */
  | 'unreadable';

/** Whether the value of one existing key is in its place. */
export interface KeyDelivery {
  /** Identity key. */
  readonly key: string;
  /** Id on the server. */
  readonly keyId: string;
  /** Description for people. */
  readonly place: string;
  readonly state: DeliveryState;
  /** The problem and how to resolve it; null when there is none. */
  readonly message: string | null;
}

/** One key with the value in its place; `holder` is undefined when there is none. */
export interface SurveyedKey {
  readonly desired: DesiredResource;
  readonly delivery: KeyDelivery;
  readonly delivered: Secret | null;
  readonly holder: KeyHolder | undefined;
  /** The pending value that belongs to the key. */
  readonly proven: PendingValue | null;
  /** The stored value when it is neither in its place nor pending. */
  readonly elsewhere: SinkValue | null;
  /** Pending values that no key has. */
  readonly unclaimed: readonly PendingValue[];
}

/** A desired key that exists on the server. */
export interface ExistingKey {
  readonly desired: DesiredResource;
  readonly keyId: string;
}

/** The sinks and lookups that a survey uses. */
export interface SurveyContext {
  readonly sinks: SinkSet;
  readonly findHolders: (claims: readonly KeyClaim[]) => Promise<readonly KeyHolder[] | null>;
  /** Whether the key with this id belongs to the same owner. */
  readonly isOwned: (keyId: string) => boolean;
}

export async function surveyKeys(
  keys: readonly ExistingKey[],
  context: SurveyContext,
): Promise<SurveyedKey[]> {
  const looked = await lookInPlace(keys, context);
  const lost = looked.filter(({ delivery, holder }) => {
    // The value in a key's place is left alone unless it belongs to another key of the same owner.
    const isTaken =
      delivery.state === 'mismatch' && holder != null && context.isOwned(holder.keyId);
    return delivery.state === 'none' || delivery.state === 'outdated' || isTaken;
  });
  if (lost.length === 0) return looked;
  const found = await lookElsewhere(context);
  return looked.map((key) => {
    const elsewhere = lost.includes(key) ? found.get(key.delivery.keyId) : undefined;
    return elsewhere === undefined ? key : foundElsewhere(key, elsewhere);
  });
}

/** Returns, by key id, the first other place that contains the key's value. */
async function lookElsewhere({
  sinks,
  findHolders,
}: SurveyContext): Promise<ReadonlyMap<string, SinkValue>> {
  const { found: values } = await sinks.list();
  const holders = await findHolders(values.map(({ value }) => ({ id: null, value })));
  const found = new Map<string, SinkValue>();
  for (const [at, holder] of (holders ?? []).entries()) {
    if (holder?.isCurrent && !found.has(holder.keyId)) found.set(holder.keyId, values[at]!);
  }
  return found;
}

function foundElsewhere(surveyed: SurveyedKey, elsewhere: SinkValue): SurveyedKey {
  const { key, place } = surveyed.delivery;
  const message = `the value of ${key} is in ${elsewhere.place}; apply moves it to ${place}`;
  return {
    ...surveyed,
    elsewhere,
    delivery: { ...surveyed.delivery, state: 'elsewhere', message },
  };
}

async function lookInPlace(
  keys: readonly ExistingKey[],
  { sinks, findHolders }: SurveyContext,
): Promise<SurveyedKey[]> {
  const sets = await sinks.read(keys.map(({ desired }) => desired));
  const valuesAt = sets.map((set) => (set instanceof Failure ? [] : valuesOf(set)));
  const holders = await findHolders(
    keys.flatMap(({ keyId: id }, at) => valuesAt[at]!.map((value) => ({ id, value }))),
  );
  let next = 0;
  return keys.map((key, at) => {
    const set = sets[at]!;
    const count = valuesAt[at]!.length;
    const own = holders === null ? null : holders.slice(next, next + count);
    next += count;
    return set instanceof Failure ? unreadable(key, set) : surveyed(key, set, own);
  });
}

function valuesOf({ delivered, pending }: ValueSet): Secret[] {
  return [...(delivered === null ? [] : [delivered]), ...pending.map(({ value }) => value)];
}

function unreadable({ desired, keyId }: ExistingKey, { message }: Failure): SurveyedKey {
  const key = identityKey(desired.identity);
  const place = targetText(desired.secretOutput!);
  return {
    desired,
    delivered: null,
    holder: undefined,
    proven: null,
    elsewhere: null,
    unclaimed: [],
    delivery: { key, keyId, place, state: 'unreadable', message },
  };
}

function surveyed(
  { desired, keyId }: ExistingKey,
  { place, delivered, pending }: ValueSet,
  holders: readonly KeyHolder[] | null,
): SurveyedKey {
  const offset = delivered === null ? 0 : 1;
  const holder = delivered === null ? undefined : (holders?.[0] ?? null);
  const proven = pending.find((_, at) => isValueOf(holders?.[at + offset], keyId)) ?? null;
  const unclaimed =
    holders === null ? [] : pending.filter((_, at) => holders[at + offset] === null);
  const state = stateOf({ keyId, holder, proven, mayAsk: holders !== null });
  const key = identityKey(desired.identity);
  const message = messageOf(state, { key, keyId, place, holder: holder ?? null });
  return {
    desired,
    delivered,
    holder,
    proven,
    unclaimed,
    elsewhere: null,
    delivery: { key, keyId, place, state, message },
  };
}

/** The states that follow from the value in the place and the pending ones. */
type StateInPlace = Exclude<DeliveryState, 'elsewhere' | 'unreadable'>;

function stateOf(known: {
  keyId: string;
  holder: KeyHolder | undefined;
  proven: PendingValue | null;
  mayAsk: boolean;
}): StateInPlace {
  if (known.proven !== null) return 'pending';
  if (known.holder === undefined) return 'none';
  if (!known.mayAsk) return 'unproven';
  if (known.holder?.keyId !== known.keyId) return 'mismatch';
  return known.holder.isCurrent ? 'delivered' : 'outdated';
}

/** Returns whether the value is the current one of the key. */
export function isValueOf(holder: KeyHolder | undefined, keyId: string): boolean {
  return holder?.keyId === keyId && holder.isCurrent;
}

function messageOf(
  state: StateInPlace,
  { key, keyId, place, holder }: { key: string; keyId: string; place: string; holder: KeyHolder },
): string | null {
  const anew = 'or raise rotation.generation to rotate the key';
  switch (state) {
    case 'none':
      return `SecretMissing: ${key} exists on the server but ${place} does not, and the value cannot \
be read again. Restore it from the sink of the run that created the key, ${anew}.`;
    case 'mismatch': {
      const truth =
        holder === null ? 'no key of this organisation has it' : `key ${holder.keyId} has it`;
      return `SecretMismatch: the value in ${place} is not that of ${key} (id ${keyId}): ${truth}. \
It is left alone. Put the right value there, ${anew}.`;
    }
    case 'outdated':
      return `SecretOutdated: the value in ${place} is the one before the last rotation of ${key}, and \
expires. Copy the new one from the sink of the run that rotated it, or raise rotation.generation to rotate \
again.`;
    case 'pending':
      return `the value of ${key} is pending; apply puts it in ${place}`;
    case 'unproven':
      return `it is unknown whether ${place} has the value of ${key}: the credential lacks the \
scope to update keys`;
    case 'delivered':
      return null;
  }
}
