/** Table functions for users: the people of an organisation, each identified by one email address. */
import { type Selectable, sql } from 'kysely';
import type { OrganisationRole } from '../../model/people/person.ts';
import type {
  ScimCondition,
  StoredAttribute,
  scimUserAttributes,
} from '../../model/people/scim-filter.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from '../rows/paging.ts';
import * as peopleMarks from '../rows/people-marks.ts';
import { contains } from '../rows/resource-table.ts';
import { rows } from '../rows/rows.ts';
import type { VersionColumns } from '../rows/version-columns.ts';
import { type ScimColumns, whereScim } from './scim-condition.ts';

interface UserRow extends VersionColumns {
  id: string;
  organisation_id: string;
  email: string;
  /** Unique form of the address: see model/people/person.ts. */
  email_key: string;
  first_name: string | null;
  last_name: string | null;
  role: OrganisationRole;
  status: 'active' | 'inactive';
  /** How the user was created. */
  source: 'bootstrap' | 'invite' | 'scim' | 'sign-in';
  /** The directory's id of the user. */
  external_id: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    users: UserRow;
  }
}

/** A user as stored. */
export type StoredUser = Selectable<UserRow>;

const table = rows('users', { marks: peopleMarks, isVersioned: true });

/** Throws errno 1062 when the address is taken; `update` does so too. */
export const { insert } = table;
export const { update } = table.keyedBy('organisation_id', 'id');
export const deleteById = table.deleteBy('organisation_id', 'id');

export const findById = table.findBy('organisation_id', 'id');

/** Locks the user until the transaction ends, so that no other row can start to refer to it. */
export const findByIdForUpdate = table.findByForUpdate('organisation_id', 'id');

/** Keeps the user from being changed or deleted until the transaction ends. */
export function findByIdForShare(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<StoredUser | undefined> {
  return table.findForShare(tx, { organisation_id: organisationId, id });
}

/** The ids that exist; their users cannot be deleted until the transaction ends. */
export async function listIdsForShare(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = await table.list(
    tx,
    { organisation_id: organisationId, id: ids },
    { columns: ['id'], orderBy: ['id'], lock: 'share' },
  );
  return new Set(found.map(({ id }) => id));
}

/** By the result of `emailKey` for the address. */
export const findByEmailKey = table.findBy('organisation_id', 'email_key');

/** As {@link findByEmailKey}, reads the latest committed row and locks it until the transaction ends. */
export const findByEmailKeyForUpdate = table.findByForUpdate('organisation_id', 'email_key');

/** Whether people are managed here: the organisation has users other than those of its bootstrap. */
export function areManaged(db: Db, organisationId: string): Promise<boolean> {
  return table.exists(db, {
    organisation_id: organisationId,
    source: ['invite', 'scim', 'sign-in'],
  });
}

export interface UserFilter {
  readonly role?: OrganisationRole | undefined;
  /** Key of the whole address. */
  readonly emailKey?: string | undefined;
  /** Parts of names, in any case. */
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  /** Part of the full name. */
  readonly name?: string | undefined;
  readonly condition?: ScimCondition | undefined;
}

const scimColumns: ScimColumns<StoredAttribute<typeof scimUserAttributes>> = {
  id: sql.ref('id'),
  externalId: sql.ref('external_id'),
  userName: sql.ref('email_key'),
  'name.givenName': sql.ref('first_name'),
  'name.familyName': sql.ref('last_name'),
  'emails.value': sql.ref('email_key'),
  active: sql`(status = 'active')`,
  'meta.created': sql.ref('created_at'),
  'meta.lastModified': sql.ref('last_updated_at'),
};

export function list(
  db: Db,
  organisationId: string,
  { role, emailKey, firstName, lastName, name, condition }: UserFilter,
  page: Page,
): Promise<{ rows: StoredUser[]; total: number }> {
  const fullName = sql`concat_ws(' ', first_name, last_name)`;
  const query = table
    .matching(db, {
      organisation_id: organisationId,
      role,
      email_key: emailKey,
    })
    .$if(condition !== undefined, (all) => all.where(whereScim(condition!, scimColumns)))
    .$if(firstName !== undefined, (all) => all.where(contains(sql.ref('first_name'), firstName!)))
    .$if(lastName !== undefined, (all) => all.where(contains(sql.ref('last_name'), lastName!)))
    .$if(name !== undefined, (all) => all.where(contains(fullName, name!)));
  return listPage({ db, stamp: peopleMarks.stampOf('users', organisationId) }, query, page);
}
