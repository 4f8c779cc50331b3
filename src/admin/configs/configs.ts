/** HTTP routes for gateway configs (docs/reference/resources.md, Configs). */

import { z } from 'zod';
import type { Sealer } from '../../auth/keyring.ts';
import type { Principal } from '../../auth/principal.ts';
import { configSecretsOf } from '../../auth/secret-documents.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { ConfigCreate, type ConfigDocument, ConfigUpdate } from '../../model/configs/config.ts';
import { configFaults, configWarnings } from '../../model/configs/config-document.ts';
import { guardrailReferences } from '../../model/configs/guardrail-references.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { prefixFaults } from '../../model/wire/fault.ts';
import { newId } from '../../model/wire/ids.ts';
import { rewriteDocument } from '../../model/wire/json-record.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { newSlug } from '../../model/wire/slug.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as configs from '../../store/resources/configs.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import * as organisationLocks from '../../store/rows/organisation-locks.ts';
import { unusableGuardrails } from '../access/guardrail-access.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import {
  type BodyRequest,
  createFields,
  type ItemRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import {
  baseColumns,
  createResource,
  deleteResource,
  type ResourceWriter,
  updateResource,
} from '../request/resource-change.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { findIn, requireOwnOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { insertUnderSlug, writeUnderSlug } from '../request/slugs.ts';
import { withVersionTag } from '../request/version.ts';
import { withWarnings } from '../request/warnings.ts';
import {
  ConfigListItem,
  ConfigRecord,
  ConfigVersionRecord,
  configListColumns,
  configToListItem,
  configToRecord,
  configToSpec,
  configToVersionRecord,
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
/** Some clients read the top level, others `data`. */
const Receipt = Ids.extend({
  object: z.literal('config'),
  success: z.literal(true),
  data: Ids,
});

const writer: ResourceWriter<configs.StoredConfig> = {
  kind: 'Config',
  param: 'configId',
  lock: configs.findByIdOrSlugForUpdate,
  write: writeUnderSlug(configs.update),
};

/** Locks the organisation: an update that makes a config the default also changes the other configs. */
const exclusiveWriter: ResourceWriter<configs.StoredConfig> = {
  ...writer,
  lock: async (tx, organisationId, reference) => {
    await organisationLocks.lock(tx, organisationId);
    return writer.lock(tx, organisationId, reference);
  },
};

export const configResource: Resource = {
  kind: 'Config',
  features: [],
  routes: configRoutes,
  snapshot: snapshotOf(configs.listAllForOrganisation, configToSpec),
  contents: configs.contents,
};

function configRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/configs/:configId', (action) => `configs.${action}`);
  return [
    on.create({
      summary: 'Create a config',
      body: CreateBody,
      bodyLimits: documentBodyLimits,
      response: Receipt,
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List configs without their content',
      query: ListQuery,
      response: listSchema(ConfigListItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
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
      summary: 'List the versions of a config, newest first',
      query: VersionsQuery,
      response: listSchema(ConfigVersionRecord),
      handle: (request) => listVersions(deps, request),
    }),
    on.update({
      summary: 'Update a config; fields that are not sent stay',
      body: UpdateBody,
      bodyLimits: documentBodyLimits,
      ignoredFields: ['id'],
      response: Receipt,
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Delete a config that no API key and no workspace is pinned to',
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body } = request;
  rejectFaults(documentFaults(deps, body.config));
  const sealer = await sealerFor(deps, request);
  const insert = async (tx: Db, workspace: StoredWorkspace | null) => {
    const base = baseColumns(request, workspace);
    const unnamed = {
      ...base,
      name: body.name,
      config: JSON.stringify(sealedDocument(sealer, base.id, body.config, null)),
      is_default: body.isDefault ?? 0,
      status: 'active' as const,
      version_id: newId(),
      owner_id: caller.id,
      updated_by: caller.id,
    };
    await requireGuardrails(tx, unnamed, body.config);
    const row = await insertUnderSlug(slugForm, body.slug, unnamed, (named) =>
      configs.insert(tx, named),
    );
    await insertVersion(tx, request, row);
    if (row.is_default === 1)
      await configs.updateOtherDefaults(tx, row, body.managed_by?.owner ?? null);
    return { row, changes: { name: row.name } };
  };
  // A new default config also changes the other configs.
  const hold = body.isDefault === 1 ? 'alone' : 'shared';
  const created = await createResource(deps, request, 'Config', insert, hold);
  return withWarnings(receipt(created), documentWarnings(body.config));
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { workspaceId: workspace?.id };
  const page = toPage(query);
  const stored = await configs.list(db, caller.organisationId, filter, page, configListColumns);
  return listReply(stored.rows.values().map(configToListItem), stored.total);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const row = await find(deps.database.readable, request);
  return withVersionTag(configToRecord(row), row);
}

async function listVersions(deps: AdminDeps, request: QueryRequest<z.infer<typeof VersionsQuery>>) {
  const db = deps.database.readable;
  const row = await find(db, request);
  const page = toPage(request.query);
  const stored = await configs.listVersions(db, row.organisation_id, row.id, page);
  return listReply(versionRecords(row, stored.rows), stored.total);
}

async function* versionRecords(
  row: configs.StoredConfig,
  versions: AsyncIterable<configs.StoredConfigVersion>,
) {
  for await (const version of versions) yield configToVersionRecord(row, version);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { caller, body } = request;
  if (body.config !== undefined) rejectFaults(documentFaults(deps, body.config));
  const slug = newSlug(body.slug, request.params.configId!);
  const sealer = await sealerFor(deps, request);
  const usedWriter = body.isDefault === 1 ? exclusiveWriter : writer;
  const updated = await updateResource(deps, request, usedWriter, {
    columns: async (tx, row) => {
      if (body.config !== undefined) await requireGuardrails(tx, row, body.config);
      if (body.status === 'archived' && row.status === 'active') await refuseWhilePinned(tx, row);
      const stored = JSON.parse(row.config) as ConfigDocument;
      const sealed = body.config && sealedDocument(sealer, row.id, body.config, stored);
      const config = rewriteDocument(row.config, sealed);
      return {
        name: body.name,
        slug,
        status: body.status,
        is_default: body.isDefault,
        config,
        // New content creates a version.
        version_id: config === row.config ? row.version_id : newId(),
      };
    },
    stamp: { updated_by: caller.id },
    follow: async (tx, row, changed) => {
      if (changed.config !== undefined) await insertVersion(tx, request, { ...row, ...changed });
      if (changed.is_default === 1)
        await configs.updateOtherDefaults(tx, row, body.managed_by?.owner ?? null);
    },
  });
  return withWarnings(receipt(updated), documentWarnings(body.config ?? {}));
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  return deleteResource(deps, request, writer, async (tx, row) => {
    await refuseWhilePinned(tx, row);
    await configs.deleteById(tx, row.organisation_id, row.id);
    return { name: row.name };
  });
}

function find(db: Db, { caller, params, query }: Pick<ItemRequest, 'caller' | 'params' | 'query'>) {
  const finding = configs.findByIdOrSlug(db, caller.organisationId, params.configId!);
  return findIn(db, caller, query.workspace_id, finding);
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

/** Null for a document without secrets, so that an organisation without any needs no key. */
async function sealerFor(
  { keyring }: AdminDeps,
  { caller, body }: BodyRequest<{ readonly config?: ConfigDocument | undefined }>,
): Promise<Sealer | null> {
  const hasSecrets = body.config !== undefined && configSecretsOf.isIn(body.config);
  return hasSecrets ? keyring.sealerOf(caller.organisationId) : null;
}

/** @throws ApiError `invalid` for a mask that does not stand for a stored value */
function sealedDocument(
  sealer: Sealer | null,
  configId: string,
  sent: ConfigDocument,
  stored: ConfigDocument | null,
): ConfigDocument {
  if (sealer === null) return sent;
  const { document, faults } = configSecretsOf.seal(sealer, configId, sent, stored);
  rejectFaults(prefixFaults(['config'], faults));
  return document;
}

function documentFaults(deps: AdminDeps, document: ConfigDocument) {
  return prefixFaults(['config'], configFaults(document, deps.configTargets, deps.trustedHosts));
}

function documentWarnings(document: ConfigDocument) {
  return prefixFaults(['config'], configWarnings(document));
}

/** Refuses a document that names a guardrail which cannot judge its requests; locks the others. */
async function requireGuardrails(
  tx: Db,
  config: Pick<configs.StoredConfig, 'organisation_id' | 'workspace_id'>,
  document: ConfigDocument,
): Promise<void> {
  const references = guardrailReferences(document);
  const names = [...new Set(references.map(({ guardrail }) => guardrail))];
  const faultOf = await unusableGuardrails(tx, config, names, 'llm');
  rejectFaults(
    references.flatMap(({ path, guardrail }) => {
      const message = faultOf(guardrail);
      return message === null ? [] : [{ path: ['config', ...path], message }];
    }),
  );
}

/** Requests with a pinned config are refused if it is missing, so a pinned config must stay. */
async function refuseWhilePinned(tx: Db, row: configs.StoredConfig): Promise<void> {
  const key = await apiKeys.findByConfig(tx, row.organisation_id, row.id);
  if (key !== undefined) {
    throw new ApiError('conflict', `The API key ${key.name} is pinned to this config`);
  }
  const slug = await workspaces.findByUserKeyConfig(tx, row.organisation_id, row.id);
  if (slug === undefined) return;
  throw new ApiError('conflict', `User keys of the workspace ${slug} use this config`);
}

function receipt(row: z.infer<typeof Ids>): z.infer<typeof Receipt> {
  const ids = { id: row.id, slug: row.slug, version_id: row.version_id };
  return { ...ids, object: 'config', success: true, data: ids };
}
