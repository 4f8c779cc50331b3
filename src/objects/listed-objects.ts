/** Knows what a provider's own list tells of an object: the seam between who asks providers and who looks for what was lost. */
import type { ObjectKind } from './object-request.ts';

/** Behind the request for an object, by which what comes of it has come: longer than calls take, with all their tries. */
export const outcomeMs = 3_600_000;

export interface ListedObject {
  readonly id: string;
  /** Under which it was asked for; null for none. */
  readonly mark: string | null;
  /** By the clock of the provider, in milliseconds since the epoch; null where it does not say. */
  readonly createdAt: number | null;
}

/** Whose list, and of what. */
export interface ListOf {
  readonly organisationId: string;
  /** As in the ledger of objects. */
  readonly provider: string;
  readonly kind: ObjectKind;
}

/** One object, or what stands below it. */
export interface ObjectOf extends ListOf {
  readonly id: string;
  /** Further words of its path. */
  readonly below?: readonly string[];
}

export interface ProviderLists {
  /**
   * Pages of all that the provider has of the kind, whoever has made it, the latest first where the
   * provider does as it is asked.
   *
   * @throws where the provider cannot be asked, or takes longer than until the signal
   */
  pages(of: ListOf, signal: AbortSignal): AsyncIterable<readonly ListedObject[]>;
  /**
   * Whether the provider has it still; false of a provider that is none any more.
   *
   * @throws where the provider cannot be asked, or takes longer than until the signal
   */
  has(of: ObjectOf, signal: AbortSignal): Promise<boolean>;
  /**
   * What the provider tells of it; null of what it has no more, and of a provider that is none any more.
   *
   * @throws where the provider cannot be asked, or takes longer than until the signal
   */
  read(of: ObjectOf, signal: AbortSignal): Promise<{ readonly told: unknown } | null>;
}
