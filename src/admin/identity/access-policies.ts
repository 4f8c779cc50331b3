/**
 * HTTP routes for access policies: which principal holds which role in the caller's tenant
 * (docs/reference/access.md, Access policies).
 */

import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import {
  AccessPolicyCreate,
  accountNameOf,
  parseResource,
} from '../../model/people/access-policy.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { listReply, listSchema } from '../../model/wire/paging.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import type { AccessPolicyRow } from '../../store/people/access-policies.ts';
import * as accessPolicies from '../../store/people/access-policies.ts';
import * as profiles from '../../store/people/service-account-profiles.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { requireRolesWithin, requireSuperuserFor } from './service-account-rights.ts';

const AccessPolicy = z.object({
  id: z.uuid(),
  principal: z.string(),
  resource: z.string(),
  role: z.string(),
  created_at: ResponseTimestamp,
  object: z.literal('access-policy'),
});

const path = '/iam/v1/access_policies';
const mounts = { root: ['access-token', 'session'] } as const;

export function accessPolicyRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      method: 'POST',
      path,
      mounts,
      scope: 'access_policies.create',
      summary: 'Grant a role to a principal',
      body: AccessPolicyCreate,
      response: AccessPolicy,
      successStatus: 201,
      handle: (request) => create(deps, request),
    }),
    route({
      method: 'GET',
      path,
      mounts,
      scope: 'access_policies.list',
      summary: 'List the access policies of the tenant',
      response: listSchema(AccessPolicy),
      handle: async ({ caller }) => {
        requireWholeOrganisation(caller);
        const rows = await accessPolicies.listByTsg(deps.database.readable, caller.tsgId);
        return listReply(rows.values().map(present), rows.length);
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/:policyId`,
      mounts,
      scope: 'access_policies.delete',
      summary: 'Revoke a role of a principal',
      response: z.object({}),
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(
  deps: AdminDeps,
  request: AdminRequest<Record<string, string>, undefined, AccessPolicyCreate>,
) {
  const { caller, body, now } = request;
  requireWholeOrganisation(caller);
  if (parseResource(body.resource)?.tsgId !== caller.tsgId) {
    throw new ApiError('forbidden', 'The token is for another TSG than the resource', 'resource');
  }
  requireRolesWithin(caller, [body.role], 'role');
  const row: AccessPolicyRow = { id: newId(), tsg_id: caller.tsgId, ...body, created_at: now };
  await deps.database.transaction(async (tx) => {
    await requireSuperuserFor(tx, caller, body.role, 'role');
    await requireUnique(accessPolicies.insert(tx, row));
    await touchAccount(tx, request, row);
    await auditChange(tx, deps, request, {
      action: 'create',
      kind: 'AccessPolicy',
      changes: body,
      resourceId: row.id,
      workspaceId: null,
    });
  });
  return present(row);
}

async function remove(deps: AdminDeps, request: AdminRequest) {
  const { caller, params } = request;
  requireWholeOrganisation(caller);
  const id = idOr404(params.policyId!);
  await deps.database.transaction(async (tx) => {
    const row = await accessPolicies.findForUpdate(tx, caller.tsgId, id);
    if (row === undefined) throw new ApiError('notFound');
    await accessPolicies.deleteById(tx, caller.tsgId, id);
    await touchAccount(tx, request, row);
    await auditChange(tx, deps, request, {
      action: 'delete',
      kind: 'AccessPolicy',
      changes: {},
      resourceId: id,
      workspaceId: null,
    });
  });
  return {};
}

/** The roles of a service account are part of its record, and of the snapshot. */
async function touchAccount(
  tx: Db,
  { caller, now }: Pick<AdminRequest, 'caller' | 'now'>,
  { principal }: AccessPolicyRow,
): Promise<void> {
  const name = accountNameOf(principal, caller.tsgId);
  if (name !== null) await profiles.touch(tx, caller.organisationId, name, now);
}

function present(row: AccessPolicyRow): z.infer<typeof AccessPolicy> {
  const { id, principal, resource, role } = row;
  const created = formatTimestamp(row.created_at);
  return { id, principal, resource, role, created_at: created, object: 'access-policy' };
}
