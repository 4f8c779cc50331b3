/** Knows what every kind of place can do that values of API keys are delivered to. */
import type { Failure } from '../../failure.ts';
import type { Secret } from '../../secret.ts';
import type { DesiredResource } from '../resources/resource-set.ts';

/** A value that lies somewhere in a sink. */
export interface StoredValue {
  readonly sink: Sink;
  /** For people, and as no other value of the sink has it: the absolute path of a file. */
  readonly place: string;
  readonly value: Secret;
}

/** A value that waits for its key, or for its place. */
export interface PendingValue extends StoredValue {
  /** Of the lease of the run that wrote it: a run with a greater one has shut it out. */
  readonly fence: number;
}

/** The mark of a value whose key was about to be deleted; outlives a run that died then. */
export interface LeavingValue extends StoredValue {
  /** The place that was marked. */
  readonly of: string;
  /** Of the lease of the run that marked it. */
  readonly fence: number;
}

/** What lies in the place of one key. */
export interface ValueSet {
  readonly place: string;
  /** Null where there is nothing. */
  readonly delivered: Secret | null;
  /** Those of this owner, the newest first. */
  readonly pending: readonly PendingValue[];
}

/**
 * One kind of place as one owner of one organisation sees it; pending values of others are not its own.
 * Every method throws Failure when the sink is out of reach or refuses; each may be called again after
 * any other has been cut off in the middle, by this run or a later one.
 */
export interface Sink {
  /** The place of a key, for people. @throws Failure when this run may not use it */
  placeOf(desired: DesiredResource): string;

  /** What lies in the place of each key, in order; a Failure where that cannot be told. */
  read(keys: readonly DesiredResource[]): Promise<readonly (ValueSet | Failure)[]>;

  /** Every value of the sink that may be a key's, save marks; those that wait or are kept aside last. */
  list(): Promise<StoredValue[]>;

  /** Safe once it returns. @throws Failure when this run has written another one already */
  writePending(desired: DesiredResource, fence: number, value: string): Promise<PendingValue>;

  /**
   * Puts a value of this sink, pending above all, in the place of a key, from where it lies now.
   *
   * @param over what has been judged to lie there and may go; null where nothing does
   * @throws Failure when something else has come there meanwhile
   */
  publish(desired: DesiredResource, from: StoredValue, over: Secret | null): Promise<void>;

  /** Keeps what lies in the place of a key under another name, which it yields. */
  keepAside(desired: DesiredResource, fence: number): Promise<string>;

  /** Whether a place still has the value that was found in it. */
  holds(stored: StoredValue): Promise<boolean>;

  /** Removes a value if it is still there. */
  discard(stored: StoredValue): Promise<void>;

  /** Says of a value that it goes, before its key does. */
  markLeaving(stored: StoredValue, fence: number): Promise<LeavingValue>;

  /** Marks of runs which did not come to an end. */
  listLeaving(): Promise<LeavingValue[]>;

  /** Removes what was marked, if it still has that value, and the mark. */
  removeLeft(marked: LeavingValue): Promise<void>;

  /** For a key that stays after all. */
  unmark(marked: LeavingValue): Promise<void>;
}
