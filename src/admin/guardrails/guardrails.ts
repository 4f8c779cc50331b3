/** Knows guardrails over HTTP (contract.md 2.5). */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/route.ts';
import { guardrailReferences } from '../../model/config-document.ts';
import { ApiError } from '../../model/errors.ts';
import {
  type GuardrailCheck,
  GuardrailCreate,
  GuardrailTarget,
  GuardrailUpdate,
} from '../../model/guardrail.ts';
import { guardrailFaults } from '../../model/guardrail-checks.ts';
import { newId } from '../../model/ids.ts';
import { readDocument, writeDocument } from '../../model/json-record.ts';
import { listOf, listReply, pageQuery, toPage } from '../../model/paging.ts';
import { makeSlug } from '../../model/slug.ts';
import { formatTimestamp } from '../../model/timestamp.ts';
import type { WorkspaceDefaults } from '../../model/workspace.ts';
import type { Db } from '../../store/connection/db.ts';
import * as configs from '../../store/tables/configs.ts';
import * as guardrailMappings from '../../store/tables/guardrail-mappings.ts';
import * as guardrails from '../../store/tables/guardrails.ts';
import * as workspaces from '../../store/tables/workspaces.ts';
import {
  createFields,
  faultsError,
  type ItemRequest,
  refuseFaults,
  requireUnchanged,
  requireUpdate,
  requireWorkspace,
  updateFields,
  WorkspaceQuery,
} from '../request/body-fields.ts';
import { recordChange, recordUpdate, requireVersion, versioned } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { findGuardrail, guardrailScope } from '../request/guardrail-access.ts';
import {
  requireOwnOrganisation,
  resolveWorkspace,
  resolveWorkspaceForWrite,
} from '../request/scoping.ts';
import { GuardrailListItem, GuardrailRecord, toListItem, toRecord } from './guardrail-record.ts';

const slugForm = { prefix: 'pg', nameLengthMax: 6 };

const CreateBody = GuardrailCreate.extend(createFields);
const UpdateBody = GuardrailUpdate.extend({ ...updateFields, target: GuardrailTarget.optional() });
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  ...pageQuery({ sizeMax: 1000 }),
});

const Receipt = z.object({ id: z.uuid(), slug: z.string(), version_id: z.uuid() });
const CreateReceipt = Receipt.extend({
  object: z.literal('guardrail'),
  created_at: z.string(),
  created_by: z.uuid(),
});

type Params = Record<string, string>;
type CreateRequest = AdminRequest<Params, undefined, z.infer<typeof CreateBody>>;
type UpdateRequest = AdminRequest<Params, undefined, z.infer<typeof UpdateBody>>;

export function guardrailRoutes(deps: AdminDeps): Route<Principal>[] {
  const shared = { mounts: everyMount } as const;
  const item = { ...shared, path: '/guardrails/:guardrailId' };
  return [
    route({
      ...shared,
      method: 'POST',
      path: '/guardrails',
      scope: guardrailScope('create'),
      summary: 'Create a guardrail',
      body: CreateBody,
      response: CreateReceipt,
      handle: (request) => create(deps, request),
    }),
    route({
      ...shared,
      method: 'GET',
      path: '/guardrails',
      scope: guardrailScope('list'),
      summary: 'List guardrails of every target',
      query: ListQuery,
      response: listOf(GuardrailListItem),
      handle: (request) => list(deps, request),
    }),
    route({
      ...item,
      method: 'GET',
      scope: guardrailScope('read'),
      summary: 'Get a guardrail with its checks and MCP servers',
      query: WorkspaceQuery,
      response: GuardrailRecord,
      handle: (request) => get(deps, request),
    }),
    route({
      ...item,
      method: 'PUT',
      scope: guardrailScope('update'),
      summary: 'Replace the fields sent of a guardrail',
      body: UpdateBody,
      ignoredFields: ['id', 'slug'],
      response: Receipt,
      handle: (request) => update(deps, request),
    }),
    route({
      ...item,
      method: 'DELETE',
      scope: guardrailScope('delete'),
      summary: 'Delete a guardrail that no config names',
      query: WorkspaceQuery,
      response: z.object({}),
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(
  deps: AdminDeps,
  request: CreateRequest,
): Promise<z.infer<typeof CreateReceipt>> {
  const { caller, body, now } = request;
  requireOwnOrganisation(caller, body.organisation_id);
  const target = body.target ?? 'llm';
  refuseFaults(guardrailFaults(body, target, deps.trustedHosts));
  const row = {
    id: newId(),
    organisation_id: caller.organisationId,
    slug: makeSlug(slugForm, body.name),
    name: body.name,
    target,
    status: 'active' as const,
    checks: JSON.stringify(body.checks),
    actions: writeDocument(body.actions),
    version_id: newId(),
    owner_id: caller.id,
    updated_by: caller.id,
    created_at: now,
    last_updated_at: now,
  };
  await deps.database.transaction(async (tx) => {
    const workspace = await resolveWorkspaceForWrite(tx, caller, body.workspace_id);
    const workspaceId = workspace?.id ?? null;
    await guardrails.insert(tx, { ...row, workspace_id: workspaceId });
    await insertVersion(tx, request, row);
    await recordChange(tx, deps, request, {
      action: 'create',
      kind: 'Guardrail',
      resourceId: row.id,
      workspaceId,
      changes: { name: row.name, target },
      managedBy: body.managed_by,
    });
  });
  const { id, slug, version_id } = row;
  const created = { created_at: formatTimestamp(now), created_by: caller.id };
  return { id, slug, version_id, object: 'guardrail', ...created };
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
  const found = await guardrails.list(db, caller.organisationId, filter, toPage(query));
  return listReply(found.rows.map(toListItem), found.total);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller, query, mount } = request;
  const db = deps.database.readable;
  const row = await findGuardrail(db, request, guardrails.findByIdOrSlug);
  await requireWorkspace(db, caller, row, query.workspace_id);
  const mappings = await guardrailMappings.listByGuardrail(db, caller.organisationId, row.id);
  // v1 clients compare with what they sent; the newer ones need every field (contract.md 1.7 #1).
  const record = toRecord(row, mappings, mount === 'v1' ? 'as sent' : 'complete');
  return versioned(record, row);
}

async function update(deps: AdminDeps, request: UpdateRequest) {
  const { caller, body, now } = request;
  requireUpdate(body);
  return deps.database.transaction(async (tx) => {
    const row = await findGuardrail(tx, request, guardrails.findByIdOrSlugForUpdate);
    await requireWorkspace(tx, caller, row, body.workspace_id);
    requireVersion(request, row.version);
    requireUnchanged('target', body.target, row.target);
    const checks = body.checks && identified(body.checks, readChecks(row));
    const judged = { checks, actions: actionsOf(row, body) };
    refuseFaults(guardrailFaults(judged, row.target, deps.trustedHosts));
    const content = {
      checks: checks === undefined ? row.checks : JSON.stringify(checks),
      actions: body.actions === undefined ? row.actions : JSON.stringify(body.actions),
    };
    const newContent = !sameContent(row, content);
    const name = body.name ?? row.name;
    const version_id = newContent ? newId() : row.version_id;
    if (newContent) await insertVersion(tx, request, { ...row, ...content, name, version_id });
    const fields = { name, ...(newContent ? { ...content, version_id } : {}) };
    const changed = newContent || name !== row.name;
    if (changed) {
      const written = { ...fields, updated_by: caller.id, last_updated_at: now };
      await guardrails.update(tx, caller.organisationId, row.id, written);
    }
    const changedFields = changed ? Object.keys(fields) : [];
    await recordUpdate(tx, deps, request, { kind: 'Guardrail', row, fields: changedFields });
    return { id: row.id, slug: row.slug, version_id };
  });
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  const { caller, query } = request;
  await deps.database.transaction(async (tx) => {
    const row = await findGuardrail(tx, request, guardrails.findByIdOrSlugForUpdate);
    await requireWorkspace(tx, caller, row, query.workspace_id);
    requireVersion(request, row.version);
    await refuseWhileNamed(tx, row);
    const mappings = await guardrailMappings.listByGuardrail(tx, caller.organisationId, row.id);
    await guardrailMappings.deleteWithClaims(tx, caller.organisationId, mappings);
    await guardrails.deleteById(tx, caller.organisationId, row.id);
    await recordChange(tx, deps, request, {
      action: 'delete',
      kind: 'Guardrail',
      resourceId: row.id,
      workspaceId: row.workspace_id,
      changes: { name: row.name, mappings: mappings.length },
    });
  });
  return {};
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

function readChecks(row: guardrails.StoredGuardrail): GuardrailCheck[] {
  return JSON.parse(row.checks) as GuardrailCheck[];
}

function actionsOf(row: guardrails.StoredGuardrail, body: { actions?: unknown }): unknown {
  return body.actions ?? readDocument(row.actions) ?? undefined;
}

/** Gives checks sent without id the id of the stored check of the same name (interface.txt 2.5). */
function identified(
  sent: NonNullable<GuardrailUpdate['checks']>,
  stored: readonly GuardrailCheck[],
): GuardrailCheck[] {
  return sent.map((check, at) => {
    if (check.id !== undefined) return { ...check, id: check.id };
    const known = stored.find((one) => one.name !== undefined && one.name === check.name);
    if (known === undefined) {
      throw faultsError([{ path: ['checks', at, 'id'], message: 'is required for a new check' }]);
    }
    return { ...check, id: known.id };
  });
}

function sameContent(
  row: guardrails.StoredGuardrail,
  content: { checks: string; actions: string | null },
): boolean {
  return (
    isDeepStrictEqual(JSON.parse(row.checks), JSON.parse(content.checks)) &&
    isDeepStrictEqual(readDocument(row.actions), readDocument(content.actions))
  );
}

/** A guardrail that a config or workspace names cannot go: requests would run unguarded. */
async function refuseWhileNamed(tx: Db, row: guardrails.StoredGuardrail): Promise<void> {
  const names = [row.id, row.slug];
  // Ids are the same in any case, slugs are not.
  const isNamed = (name: string): boolean => name === row.slug || name.toLowerCase() === row.id;
  const naming = (await configs.listHolding(tx, row.organisation_id, names)).find(({ config }) =>
    guardrailReferences(JSON.parse(config)).some(({ guardrail }) => isNamed(guardrail)),
  );
  if (naming !== undefined) {
    throw new ApiError('conflict', `The config ${naming.slug} names this guardrail`);
  }
  const workspace = (await workspaces.listAllForOrganisation(tx, row.organisation_id)).find(
    ({ defaults }) => {
      const lists = readDocument<WorkspaceDefaults>(defaults);
      return [...(lists?.input_guardrails ?? []), ...(lists?.output_guardrails ?? [])].some(
        isNamed,
      );
    },
  );
  if (workspace !== undefined) {
    throw new ApiError('conflict', `The workspace ${workspace.slug} names this guardrail`);
  }
}
