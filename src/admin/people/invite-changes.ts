/** Creates, resends and cancels invites. */

import {
  type InviteCreate,
  type InvitedMembership,
  inviteLifetimeMs,
} from '../../model/people/invite.ts';
import { emailKey } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Fault } from '../../model/wire/fault.ts';
import { newId } from '../../model/wire/ids.ts';
import { writeDocument } from '../../model/wire/json-record.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as userInvites from '../../store/people/user-invites.ts';
import * as users from '../../store/people/users.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { requireGrantable, requireGrantableRole } from '../access/grantable.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { type BodyRequest, namesOfSentFields } from '../request/frame-fields.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { requireVersion } from '../request/version.ts';

/** Returns the stored row. */
export async function createInvite(
  deps: AdminDeps,
  request: BodyRequest<InviteCreate>,
): Promise<userInvites.StoredInvite> {
  const { body, caller, now } = request;
  requireWholeOrganisation(caller);
  const scopes = body.workspace_api_key_details?.scopes;
  if (scopes !== undefined) {
    requireGrantable(caller, scopes, [], ['workspace_api_key_details', 'scopes']);
  }
  requireGrantableRole(caller, 'organisation', body.role);
  for (const [at, { role }] of (body.workspaces ?? []).entries()) {
    requireGrantableRole(caller, 'workspace', role, ['workspaces', at, 'role']);
  }
  const key = emailKey(body.email);
  const row: userInvites.StoredInvite = {
    id: newId(),
    organisation_id: caller.organisationId,
    email: body.email,
    email_key: key,
    pending_key: key,
    role: body.role,
    status: 'pending',
    workspaces: writeDocument(body.workspaces),
    scopes: writeDocument(scopes),
    invited_by: caller.id,
    expires_at: now + inviteLifetimeMs,
    accepted_at: null,
    version: 1,
    created_at: now,
    last_updated_at: now,
  };
  await deps.database.transaction(async (tx) => {
    await requireWorkspaces(tx, caller.organisationId, body.workspaces ?? []);
    if ((await users.findByEmailKey(tx, caller.organisationId, key)) !== undefined) {
      throw new ApiError('conflict', 'The organisation has a user with this address', 'email');
    }
    await userInvites.releaseExpired(tx, caller.organisationId, key, now);
    await requireSingleInvite(userInvites.insert(tx, row));
    await auditInvite(tx, deps, request, 'create', row.id, { fields: namesOfSentFields(body) });
  });
  return row;
}

/** Opens the invite again for the full lifetime of a new one. */
export async function resendInvite(
  deps: AdminDeps,
  request: BodyRequest<unknown>,
): Promise<userInvites.StoredInvite> {
  const { now } = request;
  return deps.database.transaction(async (tx) => {
    const row = await lockInvite(tx, request);
    if (row.status !== 'pending') refuseEnded(row);
    const expires_at = now + inviteLifetimeMs;
    const columns = { expires_at, pending_key: row.email_key, last_updated_at: now };
    await requireSingleInvite(userInvites.update(tx, row, columns));
    await auditInvite(tx, deps, request, 'update', row.id, { fields: ['expires_at'] });
    return { ...row, ...columns };
  });
}

/** Returns `{}`. Cancelling a cancelled invite changes nothing. */
export async function cancelInvite(
  deps: AdminDeps,
  request: AdminRequest,
): Promise<Record<string, never>> {
  await deps.database.transaction(async (tx) => {
    const row = await lockInvite(tx, request);
    if (row.status === 'cancelled') return;
    if (row.status === 'accepted') refuseEnded(row);
    const ended = { status: 'cancelled', pending_key: null, last_updated_at: request.now } as const;
    await userInvites.update(tx, row, ended);
    await auditInvite(tx, deps, request, 'delete', row.id, {});
  });
  return {};
}

async function lockInvite(
  tx: Db,
  request: Pick<AdminRequest, 'caller' | 'params' | 'ifMatch'>,
): Promise<userInvites.StoredInvite> {
  const { caller, params } = request;
  requireWholeOrganisation(caller);
  const id = idOr404(params.id!);
  const row = await userInvites.findByIdForUpdate(tx, caller.organisationId, id);
  if (row === undefined) throw new ApiError('notFound');
  requireVersion(request, row.version);
  return row;
}

function refuseEnded({ status }: userInvites.StoredInvite): never {
  throw new ApiError('conflict', `The invite has been ${status}`, 'id');
}

function requireSingleInvite(writing: Promise<unknown>): Promise<unknown> {
  return requireUnique(writing, 'This address has an open invite already', 'email');
}

/** @throws ApiError `invalid` for a workspace that is not active, unknown or named twice */
async function requireWorkspaces(
  tx: Db,
  organisationId: string,
  into: readonly InvitedMembership[],
): Promise<void> {
  const faults: Fault[] = [];
  const seen = new Set<string>();
  for (const [at, { id }] of into.entries()) {
    const workspace = await workspaces.findByIdOrSlug(tx, organisationId, id);
    const path = ['workspaces', at, 'id'];
    if (workspace === undefined) faults.push({ path, message: 'is not a workspace' });
    else if (seen.has(workspace.id)) faults.push({ path, message: 'is named twice' });
    else seen.add(workspace.id);
  }
  rejectFaults(faults);
}

async function auditInvite(
  tx: Db,
  deps: AdminDeps,
  request: Pick<AdminRequest, 'caller' | 'now' | 'requestId'>,
  action: 'create' | 'update' | 'delete',
  resourceId: string,
  changes: Record<string, unknown>,
): Promise<void> {
  const entry = { action, kind: 'UserInvite', resourceId, workspaceId: null, changes } as const;
  await auditChange(tx, deps, request, entry);
}
