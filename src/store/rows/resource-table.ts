/** Lookups, lists and writes that the tables of all resources have in common. */
import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db, Tables } from '../connection/db.ts';
import { listPage } from './paging.ts';
import { type IdOrSlug, readReference } from './references.ts';
import { type Filter, type Predicate, type Rows, rows } from './rows.ts';
import * as snapshotMarks from './snapshot-marks.ts';
import type { VersionColumns } from './version-columns.ts';

/** Columns that the functions below use; {@link ResourceTable} leaves out functions whose columns a table lacks. */
interface CommonColumns extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  slug: string;
  name: string;
  status: string;
}

/** Tables of people have versions too, and are in no snapshot. */
type PeopleTableName = 'users' | 'user_invites' | 'scim_groups';

/** Tables of resources of one organisation, with a version in each row. */
type ResourceTableName = {
  [T in Exclude<keyof Tables, PeopleTableName>]: Tables[T] extends VersionColumns &
    Pick<CommonColumns, 'id' | 'organisation_id'>
    ? T
    : never;
}[Exclude<keyof Tables, PeopleTableName>];

/** Makes a condition on the rows of a table, given its name or alias in the statement. */
export type RowCondition = (table: string, hasSlug: boolean) => RawBuilder<boolean>;

type OwnerType = 'organisation' | 'workspace';

/** Whether a row belongs to the organisation itself or to one of its workspaces. */
export function isOwnedBy(type: OwnerType): RawBuilder<boolean> {
  return type === 'workspace' ? sql`workspace_id is not null` : sql`workspace_id is null`;
}

/** Filters of the plain list; an undefined one matches every row. */
export interface ListFilter {
  readonly type?: OwnerType | undefined;
  readonly workspaceId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Part of the name or slug, in any case. */
  readonly search?: string | undefined;
}

type ResourceOptions<T extends ResourceTableName> = {
  /** `hidden` lets lookups and lists see active rows only. */
  readonly archived?: 'hidden';
} & (Tables[T] extends Pick<CommonColumns, 'slug'>
  ? { readonly hasSlug?: true }
  : { readonly hasSlug: false });

/** A text to search for, where the table has names. */
type NameSearch<T extends ResourceTableName> =
  Tables[T] extends Pick<CommonColumns, 'name'> ? [search?: string | undefined] : [];

type SlugFunction = 'findByIdOrSlug' | `findByIdOrSlugFor${string}` | 'listByReferencesForShare';
type ResourceTable<T extends ResourceTableName> = Omit<
  ReturnType<typeof allFunctions<T>>,
  | (Tables[T] extends Pick<CommonColumns, 'slug'> ? never : SlugFunction)
  | (Tables[T] extends Pick<CommonColumns, 'slug' | 'name' | 'workspace_id'> ? never : 'list')
>;

/**
 * The functions of one table, each restricted to one organisation. The table's own file exports those
 * that have callers and adds what is specific. `ForShare` keeps rows from being changed or deleted until
 * the transaction ends, `ForUpdate` also from being locked by another transaction.
 */
export function resourceTable<T extends ResourceTableName>(
  table: T,
  ...[options]: Record<never, never> extends ResourceOptions<T>
    ? [ResourceOptions<T>?]
    : [ResourceOptions<T>]
): ResourceTable<T> {
  return allFunctions(table, options?.archived === 'hidden', options?.hasSlug !== false);
}

function allFunctions<T extends ResourceTableName>(
  table: T,
  isActiveOnly: boolean,
  hasSlug: boolean,
) {
  const { replaceOne, replaceForInsert } = snapshotMarks;
  const own = rows(table, { marks: { replaceOne, replaceForInsert }, isVersioned: true });
  const shared = own as unknown as Rows<'workspaces'>;
  const active = isActiveOnly ? ({ status: 'active' } as const) : {};
  return {
    rows: own,
    /** One page of the rows with these values, newest first; `search` is part of the name, in any case. */
    listMatching: (
      db: Db,
      filter: Filter<Selectable<Tables[T]>>,
      page: Page,
      ...[search]: NameSearch<T>
    ): Promise<{ rows: Selectable<Tables[T]>[]; total: number }> => {
      const query = shared
        .matching(db, filter as Filter<Selectable<Tables['workspaces']>>)
        .$if(search !== undefined, (all) => all.where(contains(sql.ref('name'), search!)));
      const { organisation_id: organisationId } = filter as { readonly organisation_id: string };
      const found = listPage(
        { db, stamp: snapshotMarks.stampOf(table, organisationId) },
        query,
        page,
      );
      return found as Promise<unknown> as Promise<{ rows: Selectable<Tables[T]>[]; total: number }>;
    },
    ...lookups<Selectable<Tables[T]>>(shared, active),
    ...lists<Selectable<Tables[T]>>(shared, active, table, hasSlug),
    ...writes<T>(shared),
  };
}

/** Any resource has the columns of a workspace that the functions use, or lacks the functions. */
type SharedRows = Rows<'workspaces'>;
type SharedPredicate = Predicate<Selectable<Tables['workspaces']>>;
type Active = Pick<Filter<Selectable<Tables['workspaces']>>, 'status'>;

function lookups<Stored>(shared: SharedRows, active: Active) {
  const where = (organisationId: string, { column, value }: IdOrSlug) =>
    ({ organisation_id: organisationId, ...active, [column]: value }) as SharedPredicate;
  const one = (finding: Promise<unknown>) => finding as Promise<Stored | undefined>;
  const byId = (id: string): IdOrSlug => ({ column: 'id', value: id });
  return {
    findById: (db: Db, organisationId: string, id: string) =>
      one(shared.find(db, where(organisationId, byId(id)))),
    findByIdForUpdate: (tx: Db, organisationId: string, id: string) =>
      one(shared.findForUpdate(tx, where(organisationId, byId(id)))),
    findByIdOrSlug: (db: Db, organisationId: string, reference: string) =>
      one(shared.find(db, where(organisationId, readReference(reference)))),
    findByIdOrSlugForShare: (tx: Db, organisationId: string, reference: string) =>
      one(shared.findForShare(tx, where(organisationId, readReference(reference)))),
    findByIdOrSlugForUpdate: (tx: Db, organisationId: string, reference: string) =>
      one(shared.findForUpdate(tx, where(organisationId, readReference(reference)))),
  };
}

function lists<Stored>(
  shared: SharedRows,
  active: Active,
  table: ResourceTableName,
  hasSlug: boolean,
) {
  const matching = (db: Db, organisationId: string) =>
    shared.matching(db, { organisation_id: organisationId, ...active });
  return {
    /** One page, newest first, and the number of rows on all pages; `columns` null reads all columns. */
    list: async <C extends keyof Stored & string = keyof Stored & string>(
      db: Db,
      organisationId: string,
      { workspaceId, ids, type, search }: ListFilter,
      page: Page,
      columns: readonly C[] | null = null,
    ): Promise<{ rows: Pick<Stored, C>[]; total: number }> => {
      const query = matching(db, organisationId)
        .$if(workspaceId !== undefined, (all) =>
          all.where(sql<boolean>`workspace_id = ${workspaceId}`),
        )
        .$if(ids !== undefined, (all) => all.where('id', 'in', ids!))
        .$if(type !== undefined, (all) => all.where(isOwnedBy(type!)))
        .$if(search !== undefined, (all) => all.where(nameOrSlugContains(search!)));
      const source = { db, stamp: snapshotMarks.stampOf(table, organisationId) };
      const found = await listPage(source, query, page, columns);
      return { rows: found.rows as unknown as Pick<Stored, C>[], total: found.total };
    },
    /** Oldest first; `condition` selects a part of them. */
    listAllForOrganisation: (
      db: Db,
      organisationId: string,
      condition: RowCondition | null = null,
    ) =>
      matching(db, organisationId)
        .selectAll()
        .$if(condition !== null, (all) => all.where(condition!(table, hasSlug)))
        .orderBy('id')
        .execute() as Promise<unknown> as Promise<Stored[]>,
    /** Omits ids that do not exist. */
    listByIds: (db: Db, organisationId: string, ids: readonly string[]) =>
      shared.list(db, {
        organisation_id: organisationId,
        ...active,
        id: ids,
      } as SharedPredicate) as Promise<unknown> as Promise<Stored[]>,
    /** Omits references that do not exist. */
    listByReferencesForShare: async (
      tx: Db,
      organisationId: string,
      references: readonly string[],
    ): Promise<Stored[]> => {
      const byColumn = Map.groupBy(references.map(readReference), ({ column }) => column);
      const found = new Map<unknown, unknown>();
      for (const [column, named] of byColumn) {
        const values = named.map(({ value }) => value);
        const where = { organisation_id: organisationId, ...active, [column]: values };
        const some = await shared.list(tx, where as SharedPredicate, { lock: 'share' });
        for (const row of some) found.set(row.id, row);
      }
      return [...found.values()] as Stored[];
    },
  };
}

function writes<T extends ResourceTableName>(shared: SharedRows) {
  return {
    /** Throws errno 1062 when a unique value is taken. */
    insert: (tx: Db, row: Insertable<Tables[T]>): Promise<void> =>
      shared.insert(tx, row as unknown as Insertable<Tables['workspaces']>),
    /** Writes the given columns and increments the version. */
    update: async (
      tx: Db,
      organisationId: string,
      id: string,
      columns: Omit<Updateable<Tables[T]>, 'id' | 'organisation_id' | 'version'>,
    ): Promise<void> => {
      await shared.update(
        tx,
        { organisation_id: organisationId, id },
        columns as unknown as Updateable<Tables['workspaces']>,
      );
    },
    deleteById: async (tx: Db, organisationId: string, id: string): Promise<void> => {
      await shared.delete(tx, { organisation_id: organisationId, id });
    },
  };
}

/** Whether the name or slug contains a text, in any case. */
export function nameOrSlugContains(text: string): RawBuilder<boolean> {
  return sql`(${contains(sql.ref('name'), text)} or ${contains(sql.ref('slug'), text)})`;
}

/** Whether a column contains a text, in any case. */
export function contains(column: RawBuilder<unknown>, text: string): RawBuilder<boolean> {
  return sql`locate(lower(cast(${text} as char)), lower(${column})) > 0`;
}
