/** Interface to the object lists of providers, used by jobs that find lost objects. */
import type { ObjectKind } from '../model/endpoints/object-kind.ts';

/** Maximum delay between the request for an object and its result: longer than calls take, retries included. */
export const outcomeDelayMaxMs = 3_600_000;

export interface ListedObject {
  readonly id: string;
  /** Metadata value sent with the creation request; null for none. */
  readonly mark: string | null;
  /** By the provider's clock, in milliseconds since the epoch; null if unknown. */
  readonly createdAt: number | null;
}

/** Identifies a list of a provider. */
export interface ProviderListKey {
  readonly organisationId: string;
  /** As stored with the owned objects. */
  readonly provider: string;
  readonly kind: ObjectKind;
}

/** Identifies an object, or a resource below it. */
export interface ProviderObjectKey extends ProviderListKey {
  readonly id: string;
  /** Further segments of its path. */
  readonly below?: readonly string[];
}

export interface ProviderLists {
  /**
   * Pages of all objects of the kind at the provider, whoever created them. The latest come first if the
   * provider supports that order.
   *
   * @throws when the provider cannot be queried, or the signal aborts
   */
  pages(of: ProviderListKey, signal: AbortSignal): AsyncIterable<readonly ListedObject[]>;
  /**
   * Whether the object still exists; false if the provider no longer exists.
   *
   * @throws when the provider cannot be queried, or the signal aborts
   */
  has(of: ProviderObjectKey, signal: AbortSignal): Promise<boolean>;
  /**
   * Reads the object; null if it or its provider no longer exists.
   *
   * @throws when the provider cannot be queried, or the signal aborts
   */
  read(of: ProviderObjectKey, signal: AbortSignal): Promise<{ readonly object: unknown } | null>;
  /**
   * Reads the lines of a file; null if it or its provider no longer exists.
   *
   * @throws when the provider cannot be queried, or the signal aborts
   */
  lines(of: ProviderObjectKey, signal: AbortSignal): Promise<AsyncIterable<string> | null>;
}
