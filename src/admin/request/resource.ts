/** Knows what the Admin API as a whole asks of each resource: routes, its place in the snapshot and in workspaces. */
import type { Unsealer } from '../../auth/keyring.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/route.ts';
import type { KindName } from '../../model/kinds.ts';
import type { SnapshotResource } from '../../model/snapshot.ts';
import type { Feature } from '../../settings.ts';
import type { Db } from '../../store/connection/db.ts';
import type { Which } from '../../store/tables/resource-table.ts';
import type { WorkspaceContents } from '../../store/tables/workspace-contents.ts';
import type { AdminDeps } from './deps.ts';

export interface Resource {
  readonly kind: KindName;
  /** Switches that turn its routes off; any of them does. */
  readonly features: readonly Feature[];
  /** `contents` are those of all resources, for whoever deletes a workspace. */
  readonly routes: (deps: AdminDeps, contents: readonly WorkspaceContents[]) => Route<Principal>[];
  readonly snapshot: ReadForSnapshot;
  /** How a workspace holds it; absent for what no workspace holds. */
  readonly contents?: WorkspaceContents;
}

/** A resource as the snapshot tells it, its kind and owner apart. */
type Told = Omit<SnapshotResource, 'kind' | 'managed_by' | 'spec'> & {
  readonly spec: Record<string, unknown>;
};

/** By what write-only values are opened and fingerprinted. */
export interface SpecSecrets {
  readonly unsealer: Unsealer;
  /** Null: no fingerprint is told. */
  readonly fingerprintKey: Buffer | null;
}

/** What was read of one kind. */
export interface ReadOfKind {
  readonly ids: readonly string[];
  /** Tells them one by one, once the transaction is over. */
  readonly tell: (secrets: SpecSecrets) => Iterable<Told>;
}

/** Reads all that an organisation has, or those of them that `which` leaves. */
type ReadForSnapshot = (tx: Db, organisationId: string, which: Which | null) => Promise<ReadOfKind>;

/** `toSpec` makes the body that would create the resource again, `toOthers` what is told beside it and no column of the row. */
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
  list: (tx: Db, organisationId: string, which: Which | null) => Promise<Row[]>,
  toSpec: (row: Row, secrets: SpecSecrets) => Record<string, unknown>,
  toOthers: (row: Row) => Partial<Pick<Told, 'name' | 'rotation'>> = () => ({}),
): ReadForSnapshot {
  return async (tx, organisationId, which) => {
    const rows = await list(tx, organisationId, which);
    const tell = (secrets: SpecSecrets) =>
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
    return { ids: rows.map(({ id }) => id), tell };
  };
}
