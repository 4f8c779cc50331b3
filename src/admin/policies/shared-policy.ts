/** Shared code of both kinds of policies: workspace, columns and look-up. */
import { z } from 'zod';
import type { GroupBy, PolicyCondition } from '../../model/limits/policy.ts';
import { rewriteDocument } from '../../model/wire/json-record.ts';
import { pageQuery } from '../../model/wire/paging.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import type { StoredPolicy } from '../../store/rows/policy-table.ts';
import type { AdminDeps } from '../request/deps.ts';
import { type BodyRequest, type QueryRequest, WorkspaceQuery } from '../request/frame-fields.ts';
import { baseColumns } from '../request/resource-change.ts';
import { findIn, idOr404 } from '../request/scoping.ts';

/** Status of the policies to find; active by default. */
const PolicyStatus = z.enum(['active', 'archived']).default('active');

export const PolicyListQuery = WorkspaceQuery.extend({ ...pageQuery(), status: PolicyStatus });
export const PolicyQuery = WorkspaceQuery.extend({ status: PolicyStatus });

/** Body fields common to all policies. */
interface PolicyBody {
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly conditions: readonly PolicyCondition[];
  readonly group_by: GroupBy;
}

/**
 * Columns common to all new policies.
 *
 * @throws ApiError `invalid` without a workspace, because every policy belongs to one
 */
export function newPolicy(request: BodyRequest<PolicyBody>, workspace: StoredWorkspace | null) {
  const { body } = request;
  if (workspace === null) {
    const message = 'is required with a credential of the organisation';
    throw validationError({ path: ['workspace_id'], message });
  }
  return {
    ...baseColumns(request, workspace),
    name: body.name ?? null,
    description: body.description ?? null,
    conditions: JSON.stringify(body.conditions),
    group_by: JSON.stringify(body.group_by),
    status: 'active' as const,
  };
}

/** The same columns for an update; undefined stays. */
export function changedPolicy(
  body: Partial<PolicyBody>,
  row: StoredPolicy,
): Partial<Pick<StoredPolicy, 'name' | 'description' | 'conditions' | 'group_by'>> {
  return {
    name: body.name,
    description: body.description,
    conditions: rewriteDocument(row.conditions, body.conditions),
    group_by: rewriteDocument(row.group_by, body.group_by),
  };
}

type Find<Row> = (db: Db, organisationId: string, id: string) => Promise<Row | undefined>;

/** Hides archived policies from updates and deletes. */
export function activeOnly<Row extends StoredPolicy>(find: Find<Row>): Find<Row> {
  return async (tx, organisationId, id) => {
    const row = await find(tx, organisationId, idOr404(id));
    return row?.status === 'active' ? row : undefined;
  };
}

/** The policy named by the path, in any status. */
export function findPolicy<Row extends StoredPolicy>(
  deps: AdminDeps,
  { caller, params, query }: QueryRequest<z.infer<typeof WorkspaceQuery>>,
  find: Find<Row>,
): Promise<Row> {
  const db = deps.database.readable;
  const finding = find(db, caller.organisationId, idOr404(params.id!));
  return findIn(db, caller, query.workspace_id, finding);
}
