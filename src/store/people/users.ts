/** Knows the users table: the people of an organisation, each by one e-mail address. */
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { OrganisationRole } from '../../model/people/person.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import { stampOf } from '../rows/people-marks.ts';
import { lockInShareMode } from '../rows/portable-sql.ts';
import { peopleTable } from '../rows/resource-table.ts';
import type { Versioned } from '../rows/versioned.ts';

interface UserRow extends Versioned {
  id: string;
  organisation_id: string;
  email: string;
  /** Of the address, by which it is unique: see model/person.ts. */
  email_key: string;
  first_name: string | null;
  last_name: string | null;
  role: OrganisationRole;
  status: 'active' | 'inactive';
  /** What brought the user here: the organisation's own making, an invite, a directory, the identity provider. */
  source: 'bootstrap' | 'invite' | 'scim' | 'sign-in';
  /** What the directory calls the user. */
  external_id: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    users: UserRow;
  }
}

/** A user as stored. */
export type StoredUser = Selectable<UserRow>;

/** What must be unique is the address. */
export const { insert, update, deleteById } = peopleTable('users');

export function findById(
  db: Db,
  organisationId: string,
  id: string,
): Promise<StoredUser | undefined> {
  return one(db, organisationId, id).executeTakeFirst();
}

/** Held until the transaction ends, so that nobody can come to refer to the user meanwhile. */
export function findByIdForUpdate(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<StoredUser | undefined> {
  return one(tx, organisationId, id).forUpdate().executeTakeFirst();
}

/** The user stays until the transaction ends. */
export function findByIdForShare(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<StoredUser | undefined> {
  return one(tx, organisationId, id).modifyEnd(lockInShareMode).executeTakeFirst();
}

/** Those of the ids that are there, which stay until the transaction ends. */
export async function listIdsForShare(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx
    .selectFrom('users')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .orderBy('id')
    .modifyEnd(lockInShareMode)
    .execute();
  return new Set(rows.map(({ id }) => id));
}

function one(db: Db, organisationId: string, id: string) {
  return db
    .selectFrom('users')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id);
}

/** By what `emailKey` makes of the address. */
export function findByEmailKey(
  db: Db,
  organisationId: string,
  key: string,
): Promise<StoredUser | undefined> {
  return byEmailKey(db, organisationId, key).executeTakeFirst();
}

/** As {@link findByEmailKey}, as of now; held until the transaction ends. */
export function findByEmailKeyForUpdate(
  tx: Db,
  organisationId: string,
  key: string,
): Promise<StoredUser | undefined> {
  return byEmailKey(tx, organisationId, key).forUpdate().executeTakeFirst();
}

function byEmailKey(db: Db, organisationId: string, key: string) {
  return db
    .selectFrom('users')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('email_key', '=', key);
}

/** Whether people are managed here: there are others than whom the organisation was made with. */
export async function areManaged(db: Db, organisationId: string): Promise<boolean> {
  const found = await db
    .selectFrom('users')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('source', 'in', ['invite', 'scim', 'sign-in'])
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

export interface UserFilter {
  readonly role?: OrganisationRole | undefined;
  /** The whole address, as its key. */
  readonly emailKey?: string | undefined;
  /** Parts of names, in any case. */
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  /** Part of the full name. */
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  filter: UserFilter,
  page: Page,
): Promise<{ rows: StoredUser[]; total: number }> {
  const { role, emailKey, firstName, lastName, name, externalId } = filter;
  const fullName = sql`concat_ws(' ', first_name, last_name)`;
  const query = db
    .selectFrom('users')
    .where('organisation_id', '=', organisationId)
    .$if(role !== undefined, (rows) => rows.where('role', '=', role!))
    .$if(emailKey !== undefined, (rows) => rows.where('email_key', '=', emailKey!))
    .$if(externalId !== undefined, (rows) => rows.where('external_id', '=', externalId!))
    .$if(firstName !== undefined, (rows) => rows.where(holds(sql.ref('first_name'), firstName!)))
    .$if(lastName !== undefined, (rows) => rows.where(holds(sql.ref('last_name'), lastName!)))
    .$if(name !== undefined, (rows) => rows.where(holds(fullName, name!)));
  return listPage({ db, stamp: stampOf('users', organisationId) }, query, page);
}

function holds(column: ReturnType<typeof sql>, part: string) {
  return sql<boolean>`locate(lower(cast(${part} as char)), lower(${column})) > 0`;
}
