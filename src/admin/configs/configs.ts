/** Knows gateway configs over HTTP (contract.md 2.4). */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import { ConfigCreate, type ConfigDocument, ConfigUpdate } from '../../model/config.ts';
import { configFaults, guardrailReferences } from '../../model/config-document.ts';
import { ApiError } from '../../model/errors.ts';
import { below } from '../../model/fault.ts';
import { newId } from '../../model/ids.ts';
import { listOf, listReply, pageQuery, toPage } from '../../model/paging.ts';
import { makeSlug } from '../../model/slug.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/tables/api-keys.ts';
import * as configs from '../../store/tables/configs.ts';
import {
  createFields,
  type ItemRequest,
  refuseFaults,
  requireUpdate,
  requireWorkspace,
  updateFields,
  WorkspaceQuery,
} from '../request/body-fields.ts';
import { recordChange, recordUpdate, requireVersion, versioned } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { statusOfReachable } from '../request/guardrail-access.ts';
import {
  findOr404,
  requireOwnOrganisation,
  resolveWorkspace,
  resolveWorkspaceForWrite,
} from '../request/scoping.ts';
import {
  ConfigListItem,
  ConfigRecord,
  ConfigVersionRecord,
  toListItem,
  toRecord,
  toVersionRecord,
} from './config-record.ts';

const slugForm = { prefix: 'pc', nameLengthMax: 6 };

const CreateBody = ConfigCreate.extend(createFields);
const UpdateBody = ConfigUpdate.extend(updateFields);
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  ...pageQuery(),
});
const VersionsQuery = WorkspaceQuery.extend(pageQuery());

const Ids = z.object({ id: z.uuid(), slug: z.string(), version_id: z.uuid() });
/** Top level for some clients, wrapped for others (contract.md 1.7 #2). */
const Receipt = Ids.extend({
  object: z.literal('config'),
  success: z.literal(true),
  data: Ids,
});

type Params = Record<string, string>;
type CreateRequest = AdminRequest<Params, undefined, z.infer<typeof CreateBody>>;
type UpdateRequest = AdminRequest<Params, undefined, z.infer<typeof UpdateBody>>;

export function configRoutes(deps: AdminDeps): Route<Principal>[] {
  const all = { mounts: everyMount, path: '/configs' };
  const item = { mounts: everyMount, path: '/configs/:configId' };
  return [
    route({
      ...all,
      method: 'POST',
      scope: 'configs.create',
      summary: 'Create a config',
      body: CreateBody,
      response: Receipt,
      handle: (request) => create(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      scope: 'configs.list',
      summary: 'List configs without their content',
      query: ListQuery,
      response: listOf(ConfigListItem),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: 'configs.read',
      summary: 'Get a config with its content as JSON text',
      query: WorkspaceQuery,
      response: ConfigRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      mounts: everyMount,
      path: '/configs/:configId/versions',
      method: 'GET',
      scope: 'configs.read',
      summary: 'List what a config once said, newest first',
      query: VersionsQuery,
      response: listOf(ConfigVersionRecord),
      handle: (request) => listVersions(deps, request),
    }),
    route({
      ...item,
      method: 'PUT',
      scope: 'configs.update',
      summary: 'Replace the fields sent of a config',
      body: UpdateBody,
      ignoredFields: ['id', 'slug'],
      response: Receipt,
      handle: (request) => update(deps, request),
    }),
    route({
      ...item,
      method: 'DELETE',
      scope: 'configs.delete',
      summary: 'Delete a config that no API key is pinned to',
      query: WorkspaceQuery,
      response: z.object({}),
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: CreateRequest) {
  const { caller, body, now } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  refuseFaults(documentFaults(deps, body.config));
  const row = {
    id: newId(),
    organisation_id: caller.organisationId,
    slug: makeSlug(slugForm, body.name),
    name: body.name,
    config: JSON.stringify(body.config),
    is_default: body.isDefault ?? 0,
    status: 'active' as const,
    version_id: newId(),
    owner_id: caller.id,
    updated_by: caller.id,
    created_at: now,
    last_updated_at: now,
  };
  await deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id);
    const stored = { ...row, workspace_id: workspace?.id ?? null };
    await requireGuardrails(tx, stored, body.config);
    await configs.insert(tx, stored);
    await insertVersion(tx, request, stored);
    if (stored.is_default === 1) await configs.updateOtherDefaults(tx, stored);
    await recordChange(tx, deps, request, {
      action: 'create',
      kind: 'Config',
      resourceId: row.id,
      workspaceId: stored.workspace_id,
      changes: { name: row.name },
      managedBy: body.managed_by,
    });
  });
  return receipt(row);
}

async function list(
  deps: AdminDeps,
  request: AdminRequest<Params, z.infer<typeof ListQuery>, undefined>,
) {
  const { caller, query } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { workspaceId: workspace?.id };
  const found = await configs.list(db, caller.organisationId, filter, toPage(query));
  return listReply(found.rows.map(toListItem), found.total);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const row = await find(deps.database.readable, request);
  return versioned(toRecord(row), row);
}

async function listVersions(
  deps: AdminDeps,
  request: AdminRequest<Params, z.infer<typeof VersionsQuery>, undefined>,
) {
  const db = deps.database.readable;
  const row = await find(db, request);
  const page = toPage(request.query);
  const found = await configs.listVersions(db, row.organisation_id, row.id, page);
  return listReply(
    found.rows.map((version) => toVersionRecord(row, version)),
    found.total,
  );
}

async function update(deps: AdminDeps, request: UpdateRequest) {
  const { caller, params, body, now } = request;
  requireUpdate(body);
  if (body.config !== undefined) refuseFaults(documentFaults(deps, body.config));
  return deps.database.transaction(async (tx) => {
    const row = await findForUpdate(tx, caller, params.configId!);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    requireVersion(request, row.version);
    if (body.config !== undefined) await requireGuardrails(tx, row, body.config);
    const fields = changedFields(row, body);
    const changed = Object.keys(fields);
    const next = { ...row, ...fields };
    if (fields.config !== undefined) await insertVersion(tx, request, next);
    if (changed.length > 0) {
      const written = { ...fields, updated_by: caller.id, last_updated_at: now };
      await configs.update(tx, caller.organisationId, row.id, written);
    }
    if (fields.is_default === 1) await configs.updateOtherDefaults(tx, row);
    await recordUpdate(tx, deps, request, { kind: 'Config', row, fields: changed });
    return receipt(next);
  });
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  const { caller, params, query } = request;
  await deps.database.transaction(async (tx) => {
    const row = await findForUpdate(tx, caller, params.configId!);
    await requireWorkspace(tx, caller, row, query.workspace_id);
    requireVersion(request, row.version);
    await refuseWhilePinned(tx, row);
    await configs.deleteById(tx, caller.organisationId, row.id);
    await recordChange(tx, deps, request, {
      action: 'delete',
      kind: 'Config',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { name: row.name },
    });
  });
  return {};
}

async function find(
  db: Db,
  request: Pick<ItemRequest, 'caller' | 'params' | 'query'>,
): Promise<configs.StoredConfig> {
  const { caller, params, query } = request;
  const found = await configs.findByIdOrSlug(db, caller.organisationId, params.configId!);
  const row = findOr404(caller, found);
  await requireWorkspace(db, caller, row, query.workspace_id);
  return row;
}

async function findForUpdate(
  tx: Db,
  caller: Principal,
  reference: string,
): Promise<configs.StoredConfig> {
  const { organisationId } = caller;
  return findOr404(caller, await configs.findByIdOrSlugForUpdate(tx, organisationId, reference));
}

/** Columns that the body gives another value; a new content is a new version. */
function changedFields(row: configs.StoredConfig, body: ConfigUpdate) {
  const { name, status, config, isDefault } = body;
  const sameConfig = config === undefined || isDeepStrictEqual(JSON.parse(row.config), config);
  return {
    ...(name === undefined || name === row.name ? {} : { name }),
    ...(status === undefined || status === row.status ? {} : { status }),
    ...(isDefault === undefined || isDefault === row.is_default ? {} : { is_default: isDefault }),
    ...(sameConfig ? {} : { config: JSON.stringify(config), version_id: newId() }),
  };
}

async function insertVersion(
  tx: Db,
  { caller, now }: Pick<AdminRequest, 'caller' | 'now'>,
  row: Pick<configs.StoredConfig, 'id' | 'organisation_id' | 'name' | 'config' | 'version_id'>,
): Promise<void> {
  await configs.insertVersion(tx, {
    id: row.version_id,
    resource_id: row.id,
    organisation_id: row.organisation_id,
    name: row.name,
    config: row.config,
    created_by: caller.id,
    created_at: now,
  });
}

function documentFaults(deps: AdminDeps, document: ConfigDocument) {
  return below(['config'], configFaults(document, deps.configTargets, deps.trustedHosts));
}

/**
 * Refuses a document that names a guardrail which does not exist, is archived or belongs to another
 * workspace; the others stay until the transaction ends.
 */
async function requireGuardrails(
  tx: Db,
  config: Pick<configs.StoredConfig, 'organisation_id' | 'workspace_id'>,
  document: ConfigDocument,
): Promise<void> {
  const references = guardrailReferences(document);
  const names = [...new Set(references.map(({ guardrail }) => guardrail))];
  const statusOf = await statusOfReachable(tx, config, names);
  refuseFaults(
    references.flatMap(({ path, guardrail }) => {
      const status = statusOf(guardrail);
      if (status === 'active') return [];
      const fault = status === undefined ? 'an unknown guardrail' : 'an archived guardrail';
      return [{ path: ['config', ...path], message: `names ${fault}, ${guardrail}` }];
    }),
  );
}

async function refuseWhilePinned(tx: Db, row: configs.StoredConfig): Promise<void> {
  const key = await apiKeys.findByConfig(tx, row.organisation_id, row.id);
  if (key === undefined) return;
  throw new ApiError('conflict', `The API key ${key.name} is pinned to this config`);
}

function receipt(row: z.infer<typeof Ids>): z.infer<typeof Receipt> {
  const ids = { id: row.id, slug: row.slug, version_id: row.version_id };
  return { ...ids, object: 'config', success: true, data: ids };
}
