/** Knows what the tables of policies have alike: who, where, about which requests; deleted ones stay as archived. */
import type { Kysely, Selectable } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db, Tables } from '../connection/db.ts';
import { listPageInSlices, type SlicedPage } from './paging.ts';
import { stampOf } from './snapshot-marks.ts';
import type { Versioned } from './versioned.ts';

export interface PolicyColumns extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  name: string | null;
  description: string | null;
  /** JSON, as sent; so is `group_by`. */
  conditions: string;
  group_by: string;
  status: 'active' | 'archived';
}

/** A policy of either kind as stored. */
export type StoredPolicy = Selectable<PolicyColumns>;

type PolicyTable = 'usage_limit_policies' | 'rate_limit_policies';

/** One page, newest first, of the policies that have these values; undefined lets every one through. */
export function listPolicies<T extends PolicyTable>(
  db: Db,
  table: T,
  organisationId: string,
  filter: Partial<Selectable<Tables[T]>>,
  page: Page,
): Promise<SlicedPage<Selectable<Tables[T]>>> {
  // Forgets which table it is; its rows come back as that table's.
  const name = table as unknown as 't';
  let query = (db as unknown as Kysely<{ t: PolicyColumns }>)
    .selectFrom(name)
    .where('organisation_id', '=', organisationId);
  for (const [column, value] of Object.entries(filter)) {
    if (value !== undefined) query = query.where(column as 'id', '=', value as string);
  }
  return listPageInSlices({ db, stamp: stampOf(table, organisationId) }, query, page, [
    'conditions',
    'group_by',
    'description',
  ]) as Promise<SlicedPage<unknown>> as Promise<SlicedPage<Selectable<Tables[T]>>>;
}
