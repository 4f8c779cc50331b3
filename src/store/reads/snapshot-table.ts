/** Defines what a sealed snapshot needs to know of a table. */
import type { Tables } from '../connection/db.ts';

export interface SnapshotTable<T extends keyof Tables> {
  readonly columns: readonly (keyof Tables[T] & string)[];
  /** Columns that no request reads, or that change without a mark. */
  readonly omitted: readonly (keyof Tables[T] & string)[];
  /** Primary key without the organisation; rows are in its order. */
  readonly key: readonly (keyof Tables[T] & string)[];
  /** Rows with equal values are in one part. ASCII or binary. */
  readonly partBy: keyof Tables[T] & string;
  /** The column with the id of the organisation. */
  readonly tenant: keyof Tables[T] & string;
}

export const tenant = 'organisation_id';
/** For tables of resources. */
export const byId = { key: ['id'], partBy: 'id', tenant } as const;
