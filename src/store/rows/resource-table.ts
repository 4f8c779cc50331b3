/** Knows what is done alike with the table of every resource: look-ups, lists, counted writes. */
import type {
  Insertable,
  Kysely,
  RawBuilder,
  Selectable,
  SelectQueryBuilder,
  Updateable,
} from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db, Tables } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';
import { listPage } from './paging.ts';
import * as peopleMarks from './people-marks.ts';
import { lockInShareMode } from './portable-sql.ts';
import { type Reference, readReference } from './references.ts';
import * as snapshotMarks from './snapshot-marks.ts';
import type { Versioned } from './versioned.ts';

/** Columns that the functions below speak of; {@link Offered} leaves out what a table has no column for. */
interface Common extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  status: string;
}

/** Tables of rows that are counted as well, and are in no snapshot. */
type People = 'users' | 'user_invites' | 'scim_groups';

/** Tables of one organisation's resources, each row of which counts its writes. */
type ResourceTable = {
  [T in Exclude<keyof Tables, People>]: Tables[T] extends Versioned &
    Pick<Common, 'id' | 'organisation_id'>
    ? T
    : never;
}[Exclude<keyof Tables, People>];

/** A condition on the rows of a table, under its name. */
export type Which = (table: string, hasSlug: boolean) => RawBuilder<boolean>;

const hasSlug: {
  readonly [T in ResourceTable]: Tables[T] extends Pick<Common, 'slug'> ? true : false;
} = {
  ...{ workspaces: true, guardrails: true, configs: true, mcp_integrations: true },
  ...{ mcp_servers: true, integrations: true, providers: true, secret_references: true },
  ...{ api_keys: false, usage_limit_policies: false, rate_limit_policies: false },
  ...{ guardrail_mcp_mappings: false, gateway_deployments: true, prompt_labels: false },
  ...{ prompt_collections: true, prompts: true, prompt_partials: true },
  ...{ organisation_defaults: false, guardrail_exclusions: false },
  ...{ scim_mappings: false },
};

interface PlaceFilter {
  /** Those of the organisation itself, or those of its workspaces. */
  readonly type?: 'organisation' | 'workspace' | undefined;
}

export function isPlaced(type: NonNullable<PlaceFilter['type']>): RawBuilder<boolean> {
  return type === 'workspace' ? sql`workspace_id is not null` : sql`workspace_id is null`;
}

/** Filters of the plain list; those that are undefined let every row through. */
export interface ListFilter extends PlaceFilter {
  readonly workspaceId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
}

/**
 * The functions of one table; its own file exports those that have callers and writes out what is
 * peculiar to it. Every one filters by organisation. With `archived: 'hidden'` the looking-up ones
 * see active rows only. `ForShare` keeps rows from being changed or deleted until the transaction
 * ends, `ForUpdate` from being read for a change too.
 */
export function resourceTable<T extends ResourceTable>(
  table: T,
  options: { readonly archived?: 'hidden' } = {},
): Offered<T> {
  return everything(table, options.archived === 'hidden');
}

type Everything<T extends ResourceTable> = ReturnType<typeof everything<T>>;
type NeedsSlug = 'findByIdOrSlug' | `findByIdOrSlugFor${string}` | 'listByReferencesForShare';
type Offered<T extends ResourceTable> = Omit<
  Everything<T>,
  | (Tables[T] extends Pick<Common, 'slug'> ? never : NeedsSlug)
  | (Tables[T] extends { slug: string; name: string; workspace_id: string | null } ? never : 'list')
>;

function everything<T extends ResourceTable>(table: T, activeOnly: boolean) {
  // The one place that forgets which table it is; its rows come back as that table's.
  const name = table as unknown as 't';
  const filtered = (db: Db, organisationId: string) =>
    tableOf(db)
      .selectFrom(name)
      .where('organisation_id', '=', organisationId)
      .$if(activeOnly, (rows) => rows.where('status', '=', 'active'));
  type Stored = Selectable<Tables[T]>;
  return {
    ...lookUps<Stored>(filtered),
    ...lists<Stored>(filtered, table),
    ...writes<Tables[T]>(name),
  };
}

/** Rows of an organisation that the table shows. */
type Filtered = (
  db: Db,
  organisationId: string,
) => SelectQueryBuilder<{ t: Common }, 't', Record<never, never>>;

/** The same, as a statement that is whole but for its end. */
type Found = SelectQueryBuilder<{ t: Common }, 't', Selectable<Common>>;

function lookUps<Stored>(filtered: Filtered) {
  const by = (column: Reference['column'], lock: (query: Found) => Found = (query) => query) =>
    statement((db, { organisationId, value }: { organisationId: string; value: string }) =>
      lock(filtered(db, organisationId).selectAll().where(column, '=', value)),
    );
  const byReference = (lock?: (query: Found) => Found) => {
    const columns = { id: by('id', lock), slug: by('slug', lock) };
    return (db: Db, organisationId: string, reference: string) => {
      const { column, value } = readReference(reference);
      return one(columns[column].first(db, { organisationId, value }));
    };
  };
  const one = (finding: Promise<unknown>) => finding as Promise<Stored | undefined>;
  const byId = by('id');
  const byIdForUpdate = by('id', (query) => query.forUpdate());
  return {
    findById: (db: Db, organisationId: string, id: string) =>
      one(byId.first(db, { organisationId, value: id })),
    findByIdForUpdate: (tx: Db, organisationId: string, id: string) =>
      one(byIdForUpdate.first(tx, { organisationId, value: id })),
    findByIdOrSlug: byReference(),
    findByIdOrSlugForShare: byReference((query) => query.modifyEnd(lockInShareMode)),
    findByIdOrSlugForUpdate: byReference((query) => query.forUpdate()),
  };
}

function lists<Stored>(filtered: Filtered, table: ResourceTable) {
  const many = (query: { execute(): Promise<unknown> }) => query.execute() as Promise<Stored[]>;
  return {
    /** One page, newest first, and the number of rows on all pages; of each the columns named, or all. */
    list: async <C extends keyof Stored & string = keyof Stored & string>(
      db: Db,
      organisationId: string,
      { workspaceId, ids, type, search }: ListFilter,
      page: Page,
      columns: readonly C[] | null = null,
    ): Promise<{ rows: Pick<Stored, C>[]; total: number }> => {
      const query = filtered(db, organisationId)
        .$if(workspaceId !== undefined, (rows) => rows.where('workspace_id', '=', workspaceId!))
        .$if(ids !== undefined, (rows) => rows.where('id', 'in', ids!))
        .$if(type !== undefined, (rows) => rows.where(isPlaced(type!)))
        .$if(search !== undefined, (rows) => rows.where(nameOrSlugHolds(search!)));
      const source = { db, stamp: snapshotMarks.stampOf(table, organisationId) };
      const { rows, total } = await listPage(source, query, page, columns);
      return { rows: rows as Pick<Stored, C>[], total };
    },
    /** Oldest first; `which` leaves some out. */
    listAllForOrganisation: (db: Db, organisationId: string, which: Which | null = null) =>
      many(
        filtered(db, organisationId)
          .selectAll()
          .$if(which !== null, (rows) => rows.where(which!(table, hasSlug[table])))
          .orderBy('id'),
      ),
    /** Those that exist of the named ones. */
    listByIds: async (db: Db, organisationId: string, ids: readonly string[]): Promise<Stored[]> =>
      ids.length === 0 ? [] : many(filtered(db, organisationId).selectAll().where('id', 'in', ids)),
    /** Those that exist of the named ones. */
    listByReferencesForShare: async (
      tx: Db,
      organisationId: string,
      references: readonly string[],
    ): Promise<Stored[]> => {
      if (references.length === 0) return [];
      const byColumn = Map.groupBy(references.map(readReference), ({ column }) => column);
      const query = filtered(tx, organisationId)
        .selectAll()
        .where((eb) => {
          const valuesOf = (named: Reference[]) => named.map(({ value }) => value);
          return eb.or([...byColumn].map(([column, named]) => eb(column, 'in', valuesOf(named))));
        });
      return many(query.modifyEnd(lockInShareMode));
    },
  };
}

/** Counted writes to a table of people, which no gateway reads. */
export function peopleTable<T extends People>(table: T) {
  const name = table as unknown as 't';
  const { update, deleteById } = countedWrites(name);
  return {
    /** Throws errno 1062 when what must be unique is taken. */
    insert: async (tx: Db, row: Insertable<Tables[T]>): Promise<void> => {
      const values = row as unknown as Insertable<Common>;
      peopleMarks.replaceOne(tx, values.organisation_id);
      await tableOf(tx).insertInto(name).values(values).execute();
    },
    /** Writes the given columns and counts the write; throws errno 1062 when what must be unique is taken. */
    update: (
      tx: Db,
      { organisation_id, id }: { readonly organisation_id: string; readonly id: string },
      columns: Omit<Updateable<Tables[T]>, 'id' | 'organisation_id' | 'version'>,
    ): Promise<void> => {
      peopleMarks.replaceOne(tx, organisation_id);
      return update(tx, organisation_id, id, columns);
    },
    deleteById: (tx: Db, organisationId: string, id: string): Promise<void> => {
      peopleMarks.replaceOne(tx, organisationId);
      return deleteById(tx, organisationId, id);
    },
  };
}

function countedWrites(name: 't') {
  const updating = statement(
    (tx, { of: organisationId, at: id, ...columns }: Record<string, unknown> & Place) =>
      tableOf(tx)
        .updateTable(name)
        .set({ ...columns, version: sql`version + 1` })
        .where('organisation_id', '=', organisationId)
        .where('id', '=', id),
  );
  return {
    update: async (tx: Db, organisationId: string, id: string, columns: object): Promise<void> => {
      await updating.all(tx, { ...columns, of: organisationId, at: id });
    },
    deleteById: async (tx: Db, organisationId: string, id: string): Promise<void> => {
      await tableOf(tx)
        .deleteFrom(name)
        .where('organisation_id', '=', organisationId)
        .where('id', '=', id)
        .execute();
    },
  };
}

function writes<Row>(name: 't') {
  const counted = countedWrites(name);
  const inserting = insertion((tx, row: Record<string, unknown>) =>
    tableOf(tx)
      .insertInto(name)
      .values(row as unknown as Insertable<Common>),
  );
  return {
    /** Throws errno 1062 when what must be unique is taken. */
    insert: async (tx: Db, row: Insertable<Row>): Promise<void> => {
      const values = row as Record<string, unknown>;
      snapshotMarks.replaceOne(tx, String(values.organisation_id));
      await inserting(tx, values);
    },
    /** Writes the given columns and counts the write. */
    update: async (
      tx: Db,
      organisationId: string,
      id: string,
      columns: Omit<Updateable<Row>, 'id' | 'organisation_id' | 'version'>,
    ): Promise<void> => {
      snapshotMarks.replaceOne(tx, organisationId);
      await counted.update(tx, organisationId, id, columns);
    },
    deleteById: async (tx: Db, organisationId: string, id: string): Promise<void> => {
      snapshotMarks.replaceOne(tx, organisationId);
      await counted.deleteById(tx, organisationId, id);
    },
  };
}

/** Beside the columns of a change; no table has columns of these names. */
interface Place {
  readonly of: string;
  readonly at: string;
}

function tableOf(db: Db): Kysely<{ t: Common }> {
  return db as unknown as Kysely<{ t: Common }>;
}

/** Rows whose name or slug holds a text, in any case. */
export function nameOrSlugHolds(text: string): RawBuilder<boolean> {
  const part = sql`lower(cast(${text} as char))`;
  return sql`(locate(${part}, lower(name)) > 0 or locate(${part}, lower(slug)) > 0)`;
}
