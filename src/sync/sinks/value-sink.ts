/** Defines the interface of the sinks to which values of API keys are delivered. */
import type { Failure } from '../../failure.ts';
import type { Secret } from '../../secret.ts';
import type { DesiredResource } from '../resources/resource-set.ts';

/** A value in a sink. */
export interface SinkValue {
  readonly sink: ValueSink;
  /** Describes the place uniquely within the sink, for people: the absolute path of a file. */
  readonly place: string;
  readonly value: Secret;
}

/** A value that waits for its key, or for its place. */
export interface PendingValue extends SinkValue {
  /** Fence of the run that wrote it; a run with a greater fence has replaced that one. */
  readonly fence: number;
}

/** The mark of a value whose key was about to be deleted; it survives a dead run. */
export interface LeavingValue extends SinkValue {
  /** The marked place. */
  readonly of: string;
  /** Fence of the run that marked it. */
  readonly fence: number;
}

/** The values of one key. */
export interface ValueSet {
  readonly place: string;
  /** Null when the place is empty. */
  readonly delivered: Secret | null;
  /** Pending values of this owner, newest first. */
  readonly pending: readonly PendingValue[];
}

/**
 * A sink as one owner of one organisation sees it; pending values of others are not visible. Every
 * method throws Failure when the sink is unreachable or refuses. Each method may be called again
 * after any other was interrupted, by this run or a later one.
 */
export interface ValueSink {
  /** Describes the place of a key. @throws Failure when this run may not use it */
  placeOf(desired: DesiredResource): string;

  /** Reads the values of each key, in order; a Failure for a place that cannot be read. */
  read(keys: readonly DesiredResource[]): Promise<readonly (ValueSet | Failure)[]>;

  /** Lists every value that may belong to a key, without marks; pending and kept ones last. */
  list(): Promise<SinkValue[]>;

  /** Durable when it resolves. @throws Failure when this run already wrote another value */
  writePending(desired: DesiredResource, fence: number, value: string): Promise<PendingValue>;

  /**
   * Moves a value of this sink, usually a pending one, to the place of a key.
   *
   * @param over the present value that may be replaced; null when there must be none
   * @throws Failure when another value was written meanwhile
   */
  publish(desired: DesiredResource, from: SinkValue, over: Secret | null): Promise<void>;

  /** Keeps the value in the place of a key under another name, and returns that name. */
  keepAside(desired: DesiredResource, fence: number): Promise<string>;

  /** Returns whether a place still contains the value that was read. */
  holds(stored: SinkValue): Promise<boolean>;

  /** Removes a value if it is still present. */
  discard(stored: SinkValue): Promise<void>;

  /** Marks a value whose key is about to be deleted. */
  markLeaving(stored: SinkValue, fence: number): Promise<LeavingValue>;

  /** Lists marks of runs that did not finish. */
  listLeaving(): Promise<LeavingValue[]>;

  /** Removes the marked value if it is unchanged, and the mark. */
  removeLeft(marked: LeavingValue): Promise<void>;

  /** Removes the mark of a key that stays. */
  unmark(marked: LeavingValue): Promise<void>;
}
