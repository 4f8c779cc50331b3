/** Reads and changes the caller's organisation, each change in one transaction with its audit row. */
import { ApiError } from '../../model/wire/errors.ts';
import * as organisationDefaults from '../../store/resources/organisation-defaults.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';
import { requireOwnOrganisation, requireWholeOrganisation } from '../request/scoping.ts';
import { requireVersion } from '../request/version.ts';

export type OrganisationRequest = Pick<AdminRequest, 'caller' | 'params'>;

/** @throws ApiError `forbidden` for a caller bound to a workspace, `notFound` for another organisation */
function requireOwn({ caller, params }: OrganisationRequest): void {
  requireWholeOrganisation(caller);
  requireOwnOrganisation(caller, params.tsgId);
}

/** @throws ApiError `forbidden` or `notFound` */
export async function findOrganisation(
  { database }: AdminDeps,
  request: OrganisationRequest,
): Promise<organisations.StoredOrganisation> {
  requireOwn(request);
  const row = await organisations.findById(database.readable, request.caller.organisationId);
  if (row === undefined) throw new ApiError('notFound');
  return row;
}

type Columns = Partial<
  Pick<organisations.StoredOrganisation, 'name' | 'api_key_max_ttl_days' | 'provisions_users'>
>;

/**
 * Returns the row after the change. Setting the current values again is no change.
 *
 * @throws ApiError `forbidden`, `notFound` or `stale`
 */
export async function changeOrganisation(
  deps: AdminDeps,
  request: BodyRequest<unknown>,
  columnsOf: (row: organisations.StoredOrganisation) => Columns,
): Promise<organisations.StoredOrganisation> {
  const { caller, now } = request;
  requireOwn(request);
  const id = caller.organisationId;
  return deps.database.transaction(async (tx) => {
    const row = await organisations.findByIdForUpdate(tx, id);
    if (row === undefined) throw new ApiError('notFound');
    requireVersion(request, row.version);
    const columns = columnsOf(row);
    const names = Object.keys(columns) as (keyof Columns)[];
    const fields = names.filter((field) => columns[field] !== row[field]);
    if (fields.length === 0) return row;
    await organisations.update(tx, id, { ...columns, last_updated_at: now });
    // The lifetime of keys is one of the organisation's defaults too.
    if (fields.includes('api_key_max_ttl_days')) await organisationDefaults.touch(tx, id, now);
    await auditChange(tx, deps, request, {
      action: 'update',
      kind: 'Organisation',
      resourceId: id,
      workspaceId: null,
      changes: { fields },
    });
    return { ...row, ...columns, version: row.version + 1 };
  });
}
