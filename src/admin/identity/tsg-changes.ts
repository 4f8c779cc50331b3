/** Creates, renames and deletes child tenants, each in one transaction with its audit rows. */
import { randomInt } from 'node:crypto';
import type {
  TenantServiceGroupCreate,
  TenantServiceGroupUpdate,
} from '../../model/people/tenant-service-group.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Db } from '../../store/connection/db.ts';
import { insertOrganisation } from '../../store/new-organisation.ts';
import * as accessPolicies from '../../store/people/access-policies.ts';
import * as childTsgs from '../../store/people/child-tsgs.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { isDuplicateEntry } from '../../store/rows/duplicate.ts';
import * as snapshotMarks from '../../store/rows/snapshot-marks.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import type {
  BodyRequest,
  CreateFields,
  ItemRequest,
  UpdateFields,
} from '../request/frame-fields.ts';
import {
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { requireOrganisation } from './live-organisation.ts';

type ChildTsg = childTsgs.StoredChildTsg & { readonly workspace_id: null };

const taken = 'A child tenant of this name exists already';
const attemptsMax = 5;

const writer: ResourceWriter<ChildTsg> = {
  kind: 'TenantServiceGroup',
  param: 'tsgId',
  lock: async (tx, organisationId, id) => {
    const row = await childTsgs.findByIdForUpdate(tx, organisationId, idOr404(id));
    return row && { ...row, workspace_id: null };
  },
  write: (tx, organisationId, id, { workspace_id: _, ...columns }) =>
    requireUnique(childTsgs.update(tx, organisationId, id, columns), taken, 'name'),
};

export async function createTsg(
  deps: AdminDeps,
  request: BodyRequest<TenantServiceGroupCreate & CreateFields>,
) {
  const { body, caller, now } = request;
  requireWholeOrganisation(caller);
  const { id, tsg_id } = await createResource(deps, request, 'TenantServiceGroup', async (tx) => {
    await requireOrganisation(tx, caller);
    const made = await insertTenant(tx, { parentTsgId: caller.tsgId, name: body.name, now });
    const row = {
      id: made.id,
      organisation_id: caller.organisationId,
      tsg_id: made.tsgId,
      name: body.name,
      description: body.description ?? null,
      created_at: now,
      last_updated_at: now,
    };
    await requireUnique(childTsgs.insert(tx, row), taken, 'name');
    await auditInChild(tx, deps, request, made.id, [
      ['Organisation', made.id],
      ['User', made.ownerId],
    ]);
    const changes = { name: row.name, tsg_id: row.tsg_id };
    return { row: { ...row, workspace_id: null }, changes };
  });
  return { id, tsg_id, object: 'tsg' as const };
}

/** The id of a TSG is random and never reused, so that no earlier grant applies to a new tenant. */
async function insertTenant(
  tx: Db,
  tenant: { readonly parentTsgId: string; readonly name: string; readonly now: number },
) {
  for (let attempt = 1; ; attempt += 1) {
    const tsgId = String(randomInt(1_000_000_000, 10_000_000_000));
    try {
      return { tsgId, ...(await insertOrganisation(tx, { ...tenant, tsgId })) };
    } catch (error) {
      if (!isDuplicateEntry(error) || attempt === attemptsMax) throw error;
    }
  }
}

/** Rows in the audit log of the child, which sees nothing of its parent's. */
async function auditInChild(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  request: Pick<AdminRequest, 'caller' | 'now' | 'requestId'>,
  organisationId: string,
  rows: readonly (readonly ['Organisation' | 'User', string])[],
  action: 'create' | 'update' | 'delete' = 'create',
): Promise<void> {
  const child = { ...request, caller: { ...request.caller, organisationId } };
  for (const [kind, resourceId] of rows) {
    const change = { action, kind, resourceId, workspaceId: null, changes: {} } as const;
    await auditChange(tx, deps, child, change);
  }
}

/** Returns `{}`. A new name is also the name of the child's organisation. */
export async function updateTsg(
  deps: AdminDeps,
  request: BodyRequest<TenantServiceGroupUpdate & Pick<UpdateFields, 'managed_by'>>,
): Promise<Record<string, never>> {
  const { body, caller, now } = request;
  requireWholeOrganisation(caller);
  await updateResource(deps, request, writer, {
    columns: () => ({ name: body.name, description: body.description }),
    follow: async (tx, { id }, { name }) => {
      if (name === undefined) return;
      await organisations.update(tx, id, { name, last_updated_at: now });
      await auditInChild(tx, deps, request, id, [['Organisation', id]], 'update');
    },
  });
  return {};
}

/** Returns `{}`; whoever authenticated in the tenant cannot any more. */
export async function deleteTsg(
  deps: AdminDeps,
  request: ItemRequest,
): Promise<Record<string, never>> {
  const { caller, now } = request;
  requireWholeOrganisation(caller);
  return deleteResource(
    deps,
    request,
    writer,
    async (tx, { id, organisation_id, tsg_id, name }) => {
      await organisations.findByIdForUpdate(tx, id);
      // Nothing is added from here on, so that what is not found does not exist later either.
      await snapshotMarks.closeOrganisation(tx, id);
      await requireEmpty(tx, id, tsg_id);
      await accessPolicies.deleteByTsg(tx, tsg_id);
      await organisations.update(tx, id, { deleted_at: now, last_updated_at: now });
      await childTsgs.deleteById(tx, organisation_id, id);
      await auditInChild(tx, deps, request, id, [['Organisation', id]], 'delete');
      return { name, tsg_id };
    },
  );
}

/** @throws ApiError `conflict` naming what the tenant still has */
async function requireEmpty(tx: Db, organisationId: string, tsgId: string): Promise<void> {
  const held = new Set(await childTsgs.listHoldings(tx, organisationId));
  if (await serviceAccounts.existsIn(tx, tsgId)) held.add('service_account_profiles');
  if (held.size === 0) return;
  const names = [...held].map((table) => holdingNames[table] ?? table.replaceAll('_', ' '));
  throw new ApiError('conflict', `This tenant still has ${names.join(', ')}: delete them first`);
}

const holdingNames: Readonly<Record<string, string>> = {
  child_tsgs: 'child tenants',
  service_account_profiles: 'service accounts',
  api_keys: 'API keys',
  mcp_integrations: 'MCP integrations',
  gateway_deployments: 'deployments',
};
