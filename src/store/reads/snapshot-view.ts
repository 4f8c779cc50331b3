/** Defines how the contents of a sealed snapshot are read, whichever way they came to this process. */
import type { DataKeyRow } from '../resources/data-keys.ts';
import type { SnapshotColumn, SnapshotRow, SnapshotTableName } from './snapshot-tables.ts';

/** The rows of one organisation at the time of one consistent read. */
export interface OrganisationView {
  readonly id: string;
  /** The result of `generationOf` of snapshot_marks in the same read. */
  readonly generation: string;
  /** As `generation`, of people_marks. */
  readonly peopleGeneration: string;
  /** Database time of the read. */
  readonly readAtMs: number;
  /** The row of data_keys, wrapped by a master key; null without one. */
  readonly dataKey: DataKeyRow | null;
  /** Rows whose column has the value, in the order of the primary key. */
  rows<T extends SnapshotTableName, C extends SnapshotColumn<T>>(
    table: T,
    column: C,
    value: SnapshotRow<T>[C],
  ): readonly SnapshotRow<T>[];
  /** All rows of a table, in the order of the primary key. */
  all<T extends SnapshotTableName>(table: T): readonly SnapshotRow<T>[];
}

/** All organisations of a deployment; immutable. */
export interface SnapshotView {
  /** Increases with every change of the contents. */
  readonly sequence: number;
  /** Database time at which the contents were known to be current when they were published. */
  readonly builtAtMs: number;
  /** Most gateways that shared the limits of an organisation then; unknown when absent. */
  readonly gateways?: number | null;
  /** False when rows of an organisation are missing, because its part was damaged. */
  readonly isWhole: boolean;
  /** The row of data_keys with the key of the deployment. */
  readonly deploymentKey: DataKeyRow;
  /** By id or TSG id; undefined for a deleted organisation. */
  organisation(reference: string): OrganisationView | undefined;
  /** Ids of all organisations, including deleted ones. */
  organisationIds(): Iterable<string>;
  /** The value of an API key by its digest, in any organisation; also an expired one. */
  keyValue(digest: Buffer): SnapshotRow<'api_key_hashes'> | undefined;
}

/** Holds the newest snapshot of this process. */
export interface SnapshotSource {
  /** Null before a snapshot was loaded. */
  view(): SnapshotView | null;
  /** Whether the view was the newest one at the last contact with its origin. */
  isCurrent(): boolean;
  /** When the origin last confirmed that the view is the newest one, on the shared clock; null for never. */
  confirmedAtMs(): number | null;
  /** Calls back after the view was replaced, with the organisations that changed. */
  onChange(listener: (organisationIds: readonly string[]) => void): void;
}
