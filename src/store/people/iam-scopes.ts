/** Table functions for iam_scopes: named sets of resources of the access service. */
import type { Selectable } from 'kysely';
import { rows } from '../rows/rows.ts';
import type { VersionColumns } from '../rows/version-columns.ts';

interface IamScopeRow extends VersionColumns {
  organisation_id: string;
  name: string;
  description: string;
  /** JSON list. */
  resources: string;
}

declare module '../connection/db.ts' {
  interface Tables {
    iam_scopes: IamScopeRow;
  }
}

export type StoredIamScope = Selectable<IamScopeRow>;

const table = rows('iam_scopes', { isVersioned: true });
const byName = table.keyedBy('organisation_id', 'name');

/** Throws errno 1062 when the organisation already has a scope of this name. */
export const { insert } = table;

/** Ordered by name. */
export const list = table.listBy(['organisation_id'], { orderBy: ['name'] });

export const find = table.findBy('organisation_id', 'name');
export const findForUpdate = table.findByForUpdate('organisation_id', 'name');

/** `update` increments the version. */
export const { update, delete: deleteOne } = byName;
