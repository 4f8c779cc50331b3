/** HTTP routes for guardrails (docs/reference/resources.md, Guardrails). */

import { z } from 'zod';
import type { Sealer } from '../../auth/keyring.ts';
import type { Principal } from '../../auth/principal.ts';
import { guardrailSecretsOf } from '../../auth/secret-documents.ts';
import type { Route } from '../../http/routes/route.ts';
import { guardrailReferences } from '../../model/configs/guardrail-references.ts';
import type { CheckList } from '../../model/guardrails/check-secrets.ts';
import {
  type GuardrailCheck,
  GuardrailCreate,
  GuardrailTarget,
  GuardrailUpdate,
} from '../../model/guardrails/guardrail.ts';
import { guardrailFaults, guardrailWarnings } from '../../model/guardrails/guardrail-checks.ts';
import { guardrailSlugForm } from '../../model/guardrails/guardrail-slug.ts';
import { documentBodyLimits } from '../../model/json/body-limits.ts';
import { defaultGuardrailFields } from '../../model/manifests/kind-references.ts';
import { ApiError } from '../../model/wire/errors.ts';
import type { Fault } from '../../model/wire/fault.ts';
import { newId } from '../../model/wire/ids.ts';
import { readDocument, rewriteDocument, writeDocument } from '../../model/wire/json-record.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { mapItems, StreamedList } from '../../model/wire/streamed-list.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import { rejectFaults, validationError } from '../../model/wire/validation-error.ts';
import type { WorkspaceDefaults } from '../../model/workspaces/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import * as configs from '../../store/resources/configs.ts';
import * as guardrailMappings from '../../store/resources/guardrail-mappings.ts';
import * as guardrails from '../../store/resources/guardrails.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { findGuardrailOfPath, guardrailScopes } from '../access/guardrail-access.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
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
  requireUnchanged,
  updateResource,
} from '../request/resource-change.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { requireOwnOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import { withVersionTag } from '../request/version.ts';
import { withWarnings } from '../request/warnings.ts';
import { isDefaultGuardrail } from './guardrail-defaults.ts';
import { guardrailMappingToRecord as toMappingRecord } from './guardrail-mapping-record.ts';
import {
  GuardrailListItem,
  GuardrailRecord,
  guardrailListColumns,
  guardrailToFrame,
  guardrailToListItem,
  guardrailToSpec,
} from './guardrail-record.ts';

const CreateBody = GuardrailCreate.extend(createFields);
const UpdateBody = GuardrailUpdate.extend({
  ...updateFields,
  target: GuardrailTarget.optional(),
});
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  ...pageQuery({ sizeMax: 1000 }),
});

const Receipt = z.object({ id: z.uuid(), slug: z.string(), version_id: z.uuid() });
const CreateReceipt = Receipt.extend({
  object: z.literal('guardrail'),
  created_at: ResponseTimestamp,
  created_by: z.uuid(),
});

const writer: ResourceWriter<guardrails.StoredGuardrail> = {
  kind: 'Guardrail',
  param: 'guardrailId',
  lock: guardrails.findByIdOrSlugForUpdate,
  write: guardrails.update,
  admit: guardrailScopes.require,
};

export const guardrailResource: Resource = {
  kind: 'Guardrail',
  features: ['guardrails'],
  routes: guardrailRoutes,
  snapshot: snapshotOf(guardrails.listAllForOrganisation, guardrailToSpec),
  contents: guardrails.contents,
};

function guardrailRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/guardrails/:guardrailId', guardrailScopes.either);
  return [
    on.create({
      summary: 'Create a guardrail',
      body: CreateBody,
      bodyLimits: documentBodyLimits,
      response: CreateReceipt,
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List guardrails of every target',
      query: ListQuery,
      response: listSchema(GuardrailListItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a guardrail with its checks and MCP servers',
      query: WorkspaceQuery,
      response: GuardrailRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Update a guardrail; fields that are not sent stay',
      body: UpdateBody,
      bodyLimits: documentBodyLimits,
      ignoredFields: ['id', 'slug'],
      response: Receipt,
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Delete a guardrail that no config refers to',
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body, now } = request;
  const target = body.target ?? 'llm';
  rejectFaults(guardrailFaults(body, target, deps.trustedHosts));
  const sealer = await sealerFor(deps, request);
  const created = await createResource(deps, request, 'Guardrail', async (tx, workspace) => {
    const fresh = baseColumns(request, workspace);
    guardrailScopes.require(caller, fresh, 'create');
    const unnamed = {
      ...fresh,
      name: body.name,
      target,
      status: 'active' as const,
      checks: JSON.stringify(sealedChecks(sealer, fresh.id, body.checks ?? [], null)),
      actions: writeDocument(body.actions),
      version_id: newId(),
      owner_id: caller.id,
      updated_by: caller.id,
    };
    const row = await insertUnderSlug(guardrailSlugForm, undefined, unnamed, (named) =>
      guardrails.insert(tx, named),
    );
    await insertVersion(tx, request, row);
    return { row, changes: { name: row.name, target } };
  });
  const { id, slug, version_id } = created;
  const receipt = {
    id,
    slug,
    version_id,
    object: 'guardrail' as const,
    created_at: formatTimestamp(now),
    created_by: caller.id,
  };
  return withWarnings(receipt, guardrailWarnings(body));
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { workspaceId: workspace?.id, type: guardrailScopes.visible(caller, 'all') };
  const page = toPage(query);
  const stored = await guardrails.list(
    db,
    caller.organisationId,
    filter,
    page,
    guardrailListColumns,
  );
  return listReply(stored.rows.values().map(guardrailToListItem), stored.total);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller, query, mount } = request;
  const db = deps.database.readable;
  const row = await findGuardrailOfPath(db, request, query.workspace_id, 'read');
  // v1 clients compare with what they sent; newer clients need every field (docs/reference/resources.md, Guardrails).
  const frame = guardrailToFrame(row, mount === 'v1' ? 'as sent' : 'complete');
  const mappings = guardrailMappings.readByGuardrail(db, caller.organisationId, row.id);
  const items = mapItems(mappings, toMappingRecord);
  const record = new StreamedList<z.infer<typeof GuardrailRecord>>(
    frame,
    'mcp_server_mappings',
    items,
  );
  return withVersionTag(record, row);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { caller, body } = request;
  const sealer = await sealerFor(deps, request);
  const { id, slug, version_id } = await updateResource(deps, request, writer, {
    columns: (_, row) => {
      requireUnchanged('target', body.target, row.target);
      const stored = readChecks(row);
      const checks = body.checks && withCheckIds(body.checks, stored);
      const judged = { checks: checks ?? ('stored' as const), actions: actionsOf(row, body) };
      rejectFaults(guardrailFaults(judged, row.target, deps.trustedHosts));
      const sealed = checks && sealedChecks(sealer, row.id, checks, stored);
      const content = {
        checks: rewriteDocument(row.checks, sealed),
        actions: rewriteDocument(row.actions, body.actions),
      };
      const same = content.checks === row.checks && content.actions === row.actions;
      // New content creates a version.
      return { name: body.name, ...content, version_id: same ? row.version_id : newId() };
    },
    stamp: { updated_by: caller.id },
    follow: async (tx, row, changed) => {
      if (changed.version_id === undefined) return;
      await insertVersion(tx, request, { ...row, ...changed });
    },
  });
  return withWarnings({ id, slug, version_id }, updateWarnings(body));
}

/** A check without id takes that of the stored check with its name, which is not looked up for warnings. */
function updateWarnings({ checks = [], actions }: GuardrailUpdate): Fault[] {
  return guardrailWarnings({
    checks: checks.map((one) => ({ ...one, id: one.id ?? '' })),
    actions,
  });
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  return deleteResource(deps, request, writer, async (tx, row) => {
    const { organisation_id: organisationId } = row;
    await refuseWhileNamed(tx, row);
    const mappings = await guardrailMappings.listByGuardrail(tx, organisationId, row.id);
    await guardrailMappings.deleteWithClaims(tx, organisationId, mappings);
    await guardrails.deleteById(tx, organisationId, row.id);
    return { name: row.name, mappings: mappings.length };
  });
}

async function insertVersion(
  tx: Db,
  { caller, now }: Pick<AdminRequest, 'caller' | 'now'>,
  row: Pick<
    guardrails.StoredGuardrail,
    'id' | 'organisation_id' | 'name' | 'checks' | 'actions' | 'version_id'
  >,
): Promise<void> {
  await guardrails.insertVersion(tx, {
    id: row.version_id,
    resource_id: row.id,
    organisation_id: row.organisation_id,
    name: row.name,
    checks: row.checks,
    actions: row.actions,
    created_by: caller.id,
    created_at: now,
  });
}

/** Null for checks without secrets, so that an organisation without any needs no key. */
async function sealerFor(
  { keyring }: AdminDeps,
  { caller, body }: BodyRequest<Pick<GuardrailUpdate, 'checks'>>,
): Promise<Sealer | null> {
  const hasSecrets = guardrailSecretsOf.isIn({ checks: body.checks ?? [] });
  return hasSecrets ? keyring.sealerOf(caller.organisationId) : null;
}

/** @throws ApiError `invalid` for a mask that does not stand for a stored value */
function sealedChecks(
  sealer: Sealer | null,
  guardrailId: string,
  sent: readonly GuardrailCheck[],
  stored: readonly GuardrailCheck[] | null,
): CheckList['checks'] {
  if (sealer === null) return sent;
  const before = stored === null ? null : { checks: stored };
  const { document, faults } = guardrailSecretsOf.seal(
    sealer,
    guardrailId,
    { checks: sent },
    before,
  );
  rejectFaults(faults);
  return document.checks;
}

function readChecks(row: guardrails.StoredGuardrail): GuardrailCheck[] {
  return JSON.parse(row.checks) as GuardrailCheck[];
}

/** Stored actions may have been saved by a version that accepted other fields. */
function actionsOf(row: guardrails.StoredGuardrail, body: { actions?: unknown }): unknown {
  if (body.actions !== undefined) return body.actions;
  return row.actions === null ? undefined : 'stored';
}

/** Gives checks without id the id of the stored check with the same name. */
function withCheckIds(
  sent: NonNullable<GuardrailUpdate['checks']>,
  stored: readonly GuardrailCheck[],
): GuardrailCheck[] {
  return sent.map((check, at) => {
    if (check.id !== undefined) return { ...check, id: check.id };
    const current = stored.find((one) => one.name !== undefined && one.name === check.name);
    if (current === undefined) {
      throw validationError({ path: ['checks', at, 'id'], message: 'is required for a new check' });
    }
    return { ...check, id: current.id };
  });
}

/** A guardrail in use by a config or workspace cannot be deleted, because requests would run unguarded. */
async function refuseWhileNamed(tx: Db, row: guardrails.StoredGuardrail): Promise<void> {
  const names = [row.id, row.slug];
  // UUIDs ignore case, slugs do not.
  const isNamed = (name: string): boolean => name === row.slug || name.toLowerCase() === row.id;
  const naming = (await configs.listContaining(tx, row.organisation_id, names)).find(({ config }) =>
    guardrailReferences(JSON.parse(config)).some(({ guardrail }) => isNamed(guardrail)),
  );
  if (naming !== undefined) {
    throw new ApiError('conflict', `The config ${naming.slug} refers to this guardrail`);
  }
  if (await isDefaultGuardrail(tx, row.organisation_id, row.id)) {
    throw new ApiError('conflict', 'The organisation names this guardrail in its defaults');
  }
  const workspace = (await workspaces.listAllForOrganisation(tx, row.organisation_id)).find(
    ({ defaults }) => {
      const lists = readDocument<WorkspaceDefaults>(defaults);
      return defaultGuardrailFields.flatMap((side) => lists?.[side] ?? []).some(isNamed);
    },
  );
  if (workspace !== undefined) {
    throw new ApiError('conflict', `The workspace ${workspace.slug} names this guardrail`);
  }
}
