/** Columns and the list of both policy tables. Deleted policies stay as archived rows. */
import type { Selectable } from 'kysely';
import type { Page } from '../../model/wire/paging.ts';
import type { Db, Tables } from '../connection/db.ts';
import { listPageInSlices, type SlicedPage } from './paging.ts';
import { type Filter, type Rows, rows } from './rows.ts';
import { stampOf } from './snapshot-marks.ts';
import type { VersionColumns } from './version-columns.ts';

export interface PolicyColumns extends VersionColumns {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  name: string | null;
  description: string | null;
  /** JSON as sent, like `group_by`. */
  conditions: string;
  group_by: string;
  status: 'active' | 'archived';
}

/** A policy of either kind, as stored. */
export type StoredPolicy = Selectable<PolicyColumns>;

type PolicyTable = 'usage_limit_policies' | 'rate_limit_policies';

const tables = {
  usage_limit_policies: rows('usage_limit_policies'),
  rate_limit_policies: rows('rate_limit_policies'),
};

/** One page, newest first, of the policies with these values; an undefined value matches every policy. */
export function listPolicies<T extends PolicyTable>(
  db: Db,
  table: T,
  organisationId: string,
  filter: Partial<Selectable<Tables[T]>>,
  page: Page,
): Promise<SlicedPage<Selectable<Tables[T]>>> {
  const any = tables[table] as unknown as Rows<'rate_limit_policies'>;
  const query = any.matching(db, { ...filter, organisation_id: organisationId } as Filter<
    Selectable<Tables['rate_limit_policies']>
  >);
  const source = { db, stamp: stampOf(table, organisationId) };
  const heavy = ['conditions', 'group_by', 'description'] as const;
  return listPageInSlices(source, query, page, heavy) as Promise<unknown> as Promise<
    SlicedPage<Selectable<Tables[T]>>
  >;
}
