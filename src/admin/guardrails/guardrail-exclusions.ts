/**
 * HTTP routes for workspaces that are excluded from guardrails of their organisation, one at a time
 * (docs/reference/resources.md, Organisation defaults).
 */
import {
  GuardrailExclusionCreate,
  GuardrailExclusionUpdate,
} from '../../model/guardrails/guardrail-exclusion.ts';
import { singletonName } from '../../model/kinds/kinds.ts';
import { pageQuery } from '../../model/wire/paging.ts';
import type { Db } from '../../store/connection/db.ts';
import * as guardrailExclusions from '../../store/resources/guardrail-exclusions.ts';
import * as organisationDefaults from '../../store/resources/organisation-defaults.ts';
import * as organisationLocks from '../../store/rows/organisation-locks.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';
import { createFields, updateFields, WorkspaceQuery } from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { baseColumns, type ResourceWriter } from '../request/resource-change.ts';
import type { Action } from '../request/resource-routes.ts';
import { RowRoutes } from '../request/row-routes.ts';
import {
  findIn,
  idOr404,
  requireOwnOrganisation,
  requireWholeOrganisation,
  resolveWorkspace,
} from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import {
  guardrailExclusionToSpec,
  guardrailExclusionRecord as record,
} from './guardrail-exclusion-record.ts';

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

const path = '/guardrail-exclusions/:guardrailExclusionId';
const scopeOf = (action: Action) =>
  action === 'list' || action === 'read'
    ? 'organisation_exclusions.list'
    : 'organisation_exclusions.update';

function guardrailExclusionRoutes(deps: AdminDeps) {
  const requireEditor = requireWholeOrganisation;
  const on = new RowRoutes(deps, path, scopeOf, { writer, record, requireEditor });
  return [
    on.create({
      summary: 'Exclude a workspace from guardrails of the organisation',
      body: GuardrailExclusionCreate.extend(createFields),
      hold: 'alone',
      insert: async (tx, request, workspace) => {
        const { input_guardrails: input, output_guardrails: output } = request.body;
        const sides = {
          input_guardrails: Number(input === true),
          output_guardrails: Number(output === true),
        };
        const row = { ...baseColumns(request, workspace!), ...sides };
        const inserting = guardrailExclusions.insert(tx, row);
        await requireUnique(inserting, 'The workspace has an exclusion already', 'workspace_id');
        await count(tx, request, sides);
        return { row, changes: sides };
      },
    }),
    on.list({
      summary: 'List workspaces that are excluded from guardrails of the organisation',
      query: WorkspaceQuery.extend({
        organisation_id: createFields.organisation_id,
        ...pageQuery(),
      }),
      readPage: async (db, { caller, query }, page) => {
        requireOwnOrganisation(caller, query.organisation_id);
        const workspace = await resolveWorkspace(db, caller, query.workspace_id);
        const filter = { organisation_id: caller.organisationId, workspace_id: workspace?.id };
        return guardrailExclusions.listMatching(db, filter, page);
      },
    }),
    on.get({
      summary: 'Get the guardrails of the organisation that a workspace is excluded from',
      find: (db, { caller, query }, id) => {
        const finding = guardrailExclusions.findById(db, caller.organisationId, id);
        return findIn(db, caller, query.workspace_id, finding);
      },
    }),
    on.update({
      summary: 'Set the guardrails of the organisation that a workspace is excluded from',
      body: GuardrailExclusionUpdate.extend(updateFields),
      ignoredFields: ['id'],
      columns: ({ input_guardrails: input, output_guardrails: output }) => ({
        ...(input === undefined ? {} : { input_guardrails: Number(input) }),
        ...(output === undefined ? {} : { output_guardrails: Number(output) }),
      }),
      follow: (tx, request, changed) =>
        count(tx, request, {
          input_guardrails: Number(changed.input_guardrails !== undefined),
          output_guardrails: Number(changed.output_guardrails !== undefined),
        }),
    }),
    on.remove({
      summary: 'Apply the guardrails of the organisation to a workspace again',
      remove: async (tx, row, request) => {
        await guardrailExclusions.deleteById(tx, row.organisation_id, row.id);
        await count(tx, request, sidesOf(row));
        return { ...sidesOf(row) };
      },
    }),
  ];
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
