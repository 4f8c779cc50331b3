/**
 * HTTP routes for workspaces that are excluded from guardrails of their organisation, one at a time
 * (docs/reference/resources.md, Organisation defaults).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import {
  GuardrailExclusionCreate,
  GuardrailExclusionUpdate,
} from '../../model/guardrails/guardrail-exclusion.ts';
import { singletonName } from '../../model/kinds/kinds.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import type { Db } from '../../store/connection/db.ts';
import * as guardrailExclusions from '../../store/resources/guardrail-exclusions.ts';
import * as organisationDefaults from '../../store/resources/organisation-defaults.ts';
import * as organisationLocks from '../../store/rows/organisation-locks.ts';
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
  updateResource,
} from '../request/resource-change.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import {
  findIn,
  idOr404,
  requireOwnOrganisation,
  requireWholeOrganisation,
  resolveWorkspace,
} from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { withVersionTag } from '../request/version.ts';
import {
  GuardrailExclusionRecord,
  guardrailExclusionToRecord,
  guardrailExclusionToSpec,
} from './guardrail-exclusion-record.ts';

const CreateBody = GuardrailExclusionCreate.extend(createFields);
const UpdateBody = GuardrailExclusionUpdate.extend(updateFields);
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  ...pageQuery(),
});

type ExclusionRow = guardrailExclusions.StoredGuardrailExclusion;

/** Locks the organisation, like the routes that change many exclusions at once. */
const writer: ResourceWriter<ExclusionRow> = {
  kind: 'GuardrailExclusion',
  param: 'guardrailExclusionId',
  lock: async (tx, organisationId, id) => {
    await organisationLocks.lock(tx, organisationId);
    return guardrailExclusions.findByIdForUpdate(tx, organisationId, idOr404(id));
  },
  write: guardrailExclusions.update,
};

export const guardrailExclusionResource: Resource = {
  kind: 'GuardrailExclusion',
  features: ['guardrails'],
  routes: guardrailExclusionRoutes,
  snapshot: snapshotOf(
    guardrailExclusions.listAllForOrganisation,
    guardrailExclusionToSpec,
    () => ({
      name: singletonName,
    }),
  ),
};

function guardrailExclusionRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/guardrail-exclusions/:guardrailExclusionId', (action) =>
    action === 'list' || action === 'read'
      ? 'organisation_exclusions.list'
      : 'organisation_exclusions.update',
  );
  return [
    on.create({
      summary: 'Exclude a workspace from guardrails of the organisation',
      body: CreateBody,
      response: z.object({ id: z.uuid() }),
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List workspaces that are excluded from guardrails of the organisation',
      query: ListQuery,
      response: listSchema(GuardrailExclusionRecord),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get the guardrails of the organisation that a workspace is excluded from',
      query: WorkspaceQuery,
      response: GuardrailExclusionRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Set the guardrails of the organisation that a workspace is excluded from',
      body: UpdateBody,
      ignoredFields: ['id'],
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Apply the guardrails of the organisation to a workspace again',
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body } = request;
  requireWholeOrganisation(caller);
  const make = async (tx: Db, workspace: { readonly id: string }) => {
    const row: ExclusionRow = {
      ...baseColumns(request, workspace),
      input_guardrails: Number(body.input_guardrails === true),
      output_guardrails: Number(body.output_guardrails === true),
      version: 1,
    };
    const inserting = guardrailExclusions.insert(tx, row);
    await requireUnique(inserting, 'The workspace has an exclusion already', 'workspace_id');
    await count(tx, request, sidesOf(row));
    return { row, changes: { ...sidesOf(row) } };
  };
  const { id } = await createResource(
    deps,
    request,
    'GuardrailExclusion',
    (tx, workspace) => make(tx, workspace!),
    'alone',
  );
  return { id };
}

type Sides = Pick<ExclusionRow, 'input_guardrails' | 'output_guardrails'>;

function sidesOf({ input_guardrails, output_guardrails }: Sides): Sides {
  return { input_guardrails, output_guardrails };
}

/** Each side's list of exclusions has a version of its own. */
async function count(
  tx: Db,
  { caller, now }: Pick<AdminRequest, 'caller' | 'now'>,
  changed: Partial<Sides>,
): Promise<void> {
  const { organisationId } = caller;
  await organisationDefaults.findForUpdate(tx, organisationId, now);
  await organisationDefaults.countExclusions(tx, organisationId, [
    ...(changed.input_guardrails ? (['input_exclusions_version'] as const) : []),
    ...(changed.output_guardrails ? (['output_exclusions_version'] as const) : []),
  ]);
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = { workspaceId: workspace?.id };
  const stored = await guardrailExclusions.list(db, caller.organisationId, filter, toPage(query));
  return listReply(stored.rows.values().map(guardrailExclusionToRecord), stored.total);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller, params, query } = request;
  const db = deps.database.readable;
  const id = idOr404(params.guardrailExclusionId!);
  const finding = guardrailExclusions.findById(db, caller.organisationId, id);
  const row = await findIn(db, caller, query.workspace_id, finding);
  return withVersionTag(guardrailExclusionToRecord(row), row);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { input_guardrails: input, output_guardrails: output } = request.body;
  requireWholeOrganisation(request.caller);
  await updateResource(deps, request, writer, {
    columns: () => ({
      ...(input === undefined ? {} : { input_guardrails: Number(input) }),
      ...(output === undefined ? {} : { output_guardrails: Number(output) }),
    }),
    follow: (tx, _, changed) =>
      count(tx, request, {
        input_guardrails: Number(changed.input_guardrails !== undefined),
        output_guardrails: Number(changed.output_guardrails !== undefined),
      }),
  });
  return {};
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  requireWholeOrganisation(request.caller);
  return deleteResource(deps, request, writer, async (tx, row) => {
    await guardrailExclusions.deleteById(tx, row.organisation_id, row.id);
    await count(tx, request, sidesOf(row));
    return { ...sidesOf(row) };
  });
}
