/** Creates, updates and deletes service accounts, each in one transaction with its audit rows. */
import { serviceAccountPrincipal } from '../../model/people/access-policy.ts';
import type { RotationPolicy } from '../../model/people/api-key.ts';
import { plannedRotation } from '../../model/people/rotation-times.ts';
import type {
  ServiceAccountCreate,
  ServiceAccountUpdate,
} from '../../model/people/service-account.ts';
import { readDocument, rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import type { Db } from '../../store/connection/db.ts';
import * as profiles from '../../store/people/service-account-profiles.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import { chooseValue } from '../access/chosen-value.ts';
import type { AdminDeps } from '../request/deps.ts';
import {
  type BodyRequest,
  type CreateFields,
  type ItemRequest,
  namesOfSentFields,
  type UpdateFields,
} from '../request/frame-fields.ts';
import {
  baseColumns,
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { idOr404 } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { requireOrganisation } from './live-organisation.ts';
import { requireAssignable, requireOwnReach } from './service-account-rights.ts';
import { removeAllRoles, rolesByName, writeRoles } from './service-account-roles.ts';

type Profile = profiles.StoredServiceAccountProfile;
type CreateBody = ServiceAccountCreate & CreateFields & { client_secret?: string | undefined };
type UpdateBody = ServiceAccountUpdate & UpdateFields;

const taken = 'A service account of this name exists already';

/** Returns the client secret, which is never shown again. */
export async function createServiceAccount(deps: AdminDeps, request: BodyRequest<CreateBody>) {
  const { body, caller } = request;
  requireAssignable(caller, body.roles, []);
  const secret = chooseValue(deps, body, 'client_secret');
  const clientId = serviceAccountPrincipal(body.name, caller.tsgId);
  const { id } = await createResource(deps, request, 'ServiceAccount', async (tx, workspace) => {
    await requireOrganisation(tx, caller);
    await requireOwnReach(tx, caller, { id: null, name: body.name });
    const row = profileRow(request, workspace);
    await requireUnique(profiles.insert(tx, row), taken, 'name');
    const inserting = serviceAccounts.insert(tx, {
      id: row.id,
      tsg_id: caller.tsgId,
      name: row.name,
      client_id: clientId,
      secret_hmac: deps.keyring.hashCredential(secret),
      pepper_id: deps.keyring.pepperId,
      created_at: row.created_at,
      disabled_at: row.status === 'disabled' ? row.created_at : null,
    });
    await requireUnique(inserting, taken, 'name');
    await writeRoles(tx, deps, request, row, body.roles);
    return { row, changes: { name: row.name, fields: namesOfSentFields(body) } };
  });
  return { id, client_id: clientId, client_secret: secret, object: 'service-account' as const };
}

function profileRow(request: BodyRequest<CreateBody>, workspace: { readonly id: string } | null) {
  const { body, caller, now } = request;
  return {
    ...baseColumns(request, workspace),
    name: body.name,
    description: body.description ?? null,
    status: body.status ?? ('active' as const),
    creation_mode: 'api' as const,
    rotation_policy: writeDocument(plannedRotation(body.rotation_policy ?? null, null, now)),
    rotated_at: null,
    transition_expires_at: null,
    created_by: caller.id,
  };
}

export const serviceAccountWriter: ResourceWriter<Profile> = {
  kind: 'ServiceAccount',
  param: 'accountId',
  lock: (tx, organisationId, id) => profiles.findByIdForUpdate(tx, organisationId, idOr404(id)),
  write: profiles.update,
};

/** Returns `{}`. Absent fields stay, null clears. */
export async function updateServiceAccount(
  deps: AdminDeps,
  request: BodyRequest<UpdateBody>,
): Promise<Record<string, never>> {
  const { body, caller, now } = request;
  await updateResource(deps, request, serviceAccountWriter, {
    columns: async (tx, row) => {
      const isEnabled = body.status === 'active' && row.status !== 'active';
      if (isEnabled) await requireOwnReach(tx, caller, row);
      return {
        description: body.description,
        status: body.status,
        rotation_policy: rotationColumn(row, body, now),
      };
    },
    writeElsewhere: (tx, row) => changeRoles(tx, deps, request, row),
    follow: async (tx, row, { status }) => {
      if (status === undefined) return;
      const account = { tsg_id: caller.tsgId, id: row.id };
      const disabled_at = status === 'disabled' ? now : null;
      await serviceAccounts.update(tx, account, { disabled_at });
    },
  });
  return {};
}

function rotationColumn(row: Profile, { rotation_policy: sent }: UpdateBody, now: number) {
  if (sent === undefined) return undefined;
  const before = readDocument<RotationPolicy>(row.rotation_policy);
  return rewriteDocument(row.rotation_policy, plannedRotation(sent, before, now));
}

async function changeRoles(
  tx: Db,
  deps: AdminDeps,
  request: BodyRequest<UpdateBody>,
  row: Profile,
): Promise<readonly string[]> {
  const { body, caller } = request;
  if (body.roles === undefined) return [];
  const current = (await rolesByName(tx, caller.tsgId, [row])).get(row.name) ?? [];
  requireAssignable(caller, body.roles, current);
  const isSame =
    body.roles.length === current.length && body.roles.every((role) => current.includes(role));
  if (isSame) return [];
  await writeRoles(tx, deps, request, row, body.roles);
  return ['roles'];
}

/** Returns `{}`; no secret or token of the account is accepted afterwards. */
export function deleteServiceAccount(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<Record<string, never>> {
  return deleteResource(deps, request, serviceAccountWriter, async (tx, row) => {
    await removeAllRoles(tx, deps, request, row);
    await serviceAccounts.deleteById(tx, request.caller.tsgId, row.id);
    await profiles.deleteById(tx, row.organisation_id, row.id);
    return { name: row.name };
  });
}
