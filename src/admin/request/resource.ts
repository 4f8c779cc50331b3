/** Defines what each resource provides to the Admin API: routes, snapshot reader, workspace contents. */
import type { Unsealer } from '../../auth/keyring.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { SnapshotResource } from '../../model/kinds/snapshot.ts';
import type { Feature } from '../../settings.ts';
import type { Db } from '../../store/connection/db.ts';
import type { RowCondition } from '../../store/rows/resource-table.ts';
import type { WorkspaceContents } from '../../store/rows/workspace-contents.ts';
import type { AdminDeps } from './deps.ts';

export interface Resource {
  readonly kind: KindName;
  /** Feature flags of its routes; they are off while any flag is off. */
  readonly features: readonly Feature[];
  /** `contents` are those of all resources, needed to delete a workspace. */
  readonly routes: (deps: AdminDeps, contents: readonly WorkspaceContents[]) => Route<Principal>[];
  readonly snapshot: ReadForSnapshot;
  /** How a workspace contains it; absent for resources outside workspaces. */
  readonly contents?: WorkspaceContents;
}

/** A snapshot entry without its kind and owner. */
type SnapshotEntry = Omit<SnapshotResource, 'kind' | 'managed_by' | 'spec'> & {
  readonly spec: Record<string, unknown>;
};

/** Keys to open and fingerprint write-only values. */
export interface SpecSecrets {
  readonly unsealer: Unsealer;
  /** Null for no fingerprints. */
  readonly fingerprintKey: Buffer | null;
}

/** Rows of one kind, read for a snapshot. */
export interface SnapshotRows {
  readonly ids: readonly string[];
  /** Converts the rows one by one, after the transaction. */
  readonly entries: (secrets: SpecSecrets) => Iterable<SnapshotEntry>;
}

/** Reads all rows of an organisation, or those that `which` selects. */
type ReadForSnapshot = (
  tx: Db,
  organisationId: string,
  which: RowCondition | null,
) => Promise<SnapshotRows>;

/**
 * `toSpec` returns the body that would create the resource again, `toOthers` further snapshot fields that
 * are no columns.
 */
export function snapshotOf<
  Row extends {
    readonly id: string;
    readonly version: number;
    readonly slug?: string;
    readonly name?: string | null;
    readonly workspace_id?: string | null;
    readonly creation_mode?: string;
  },
>(
  list: (tx: Db, organisationId: string, which: RowCondition | null) => Promise<Row[]>,
  toSpec: (row: Row, secrets: SpecSecrets) => Record<string, unknown>,
  toOthers: (
    row: Row,
  ) => Partial<Pick<SnapshotEntry, 'name' | 'rotation' | 'definitions'>> = () => ({}),
): ReadForSnapshot {
  return async (tx, organisationId, which) => {
    const rows = await list(tx, organisationId, which);
    const entries = (secrets: SpecSecrets) =>
      rows.values().map((row) => ({
        id: row.id,
        slug: row.slug ?? null,
        name: row.name ?? null,
        workspace_id: row.workspace_id ?? null,
        version: row.version,
        ...(row.creation_mode === undefined ? {} : { creation_mode: row.creation_mode }),
        ...toOthers(row),
        spec: toSpec(row, secrets),
      }));
    return { ids: rows.map(({ id }) => id), entries };
  };
}
