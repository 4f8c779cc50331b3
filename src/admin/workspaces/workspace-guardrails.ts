/**
 * HTTP routes for the guardrails that apply to every request of a workspace (docs/reference/resources.md,
 * Workspaces).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { singletonName } from '../../model/kinds/kinds.ts';
import { defaultGuardrailFields } from '../../model/manifests/kind-references.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import {
  type WorkspaceGuardrailsUpdate as Update,
  WorkspaceGuardrailsUpdate,
} from '../../model/workspaces/workspace-guardrails.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import {
  type BodyRequest,
  type ItemRequest,
  type UpdateFields,
  updateFields,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { deleteResource, updateResource } from '../request/resource-change.ts';
import { itemRoutes } from '../request/resource-routes.ts';
import { findOr404 } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import { createWorkspaceWriter, type WorkspaceResource } from './workspace-changes.ts';
import { mergedDefaults, namedGuardrails, requireGuardrails } from './workspace-defaults.ts';

const { managed_by } = updateFields;
const UpdateBody = WorkspaceGuardrailsUpdate.extend({ managed_by });

/** References by id or slug, as they were sent. */
const GuardrailsRecord = z.object({
  id: z.uuid(),
  input_guardrails: z.array(z.string()),
  output_guardrails: z.array(z.string()),
  mcp_input_guardrails: z.array(z.string()),
  mcp_output_guardrails: z.array(z.string()),
});

/** Exists with every workspace, initially empty; a delete empties it again. */
export const workspaceGuardrailsResource: Resource = {
  kind: 'WorkspaceGuardrails',
  features: ['guardrails'],
  routes: workspaceGuardrailsRoutes,
  snapshot: snapshotOf(
    async (tx, organisationId, which) =>
      (await workspaces.listWithGuardrails(tx, organisationId, which)).flatMap((row) => {
        const isIncluded = row.is_declared === 1 || Object.keys(namedGuardrails(row)).length > 0;
        if (!isIncluded) return [];
        const { id, defaults, guardrails_version: version } = row;
        return [{ id, defaults, version, workspace_id: id }];
      }),
    ({ workspace_id, defaults }) => {
      const named = Object.entries(namedGuardrails({ defaults }));
      return {
        workspace_id,
        ...Object.fromEntries(named.map(([side, list]) => [side, withLowerCaseIds(list)])),
      };
    },
    () => ({ name: singletonName }),
  ),
};

/** Ids in lower case, as the API returns them elsewhere. */
function withLowerCaseIds(references: readonly string[]): string[] {
  return references.map((name) => (isUuid(name) ? name.toLowerCase() : name));
}

function workspaceGuardrailsRoutes(deps: AdminDeps): Route<Principal>[] {
  const item = { mounts: everyMount, path: '/workspaces/:id/guardrails' };
  const on = itemRoutes(item, (action) => `workspaces.${action === 'read' ? action : 'update'}`);
  return [
    on.get({
      summary: 'Get the guardrails that apply to every request of a workspace',
      response: GuardrailsRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Set the guardrails that apply to every request of a workspace',
      body: UpdateBody,
      response: z.object({ id: z.uuid() }),
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Remove the guardrails that apply to every request of a workspace',
      handle: (request) => clear(deps, request),
    }),
  ];
}

async function get(deps: AdminDeps, { caller, params }: AdminRequest) {
  const db = deps.database.readable;
  const row = await workspaces.findByIdOrSlug(db, caller.organisationId, params.id!);
  const workspace = findOr404(caller, row && { ...row, workspace_id: row.id });
  const lists = namedGuardrails(workspace);
  const record = {
    id: workspace.id,
    input_guardrails: lists.input_guardrails ?? [],
    output_guardrails: lists.output_guardrails ?? [],
    mcp_input_guardrails: lists.mcp_input_guardrails ?? [],
    mcp_output_guardrails: lists.mcp_output_guardrails ?? [],
  };
  return withVersionTag(record, { version: workspace.guardrails_version });
}

/** Writer for one request; guardrails have a version of their own. */
function createWriter() {
  return createWorkspaceWriter(
    'WorkspaceGuardrails',
    ({ guardrails_version }) => guardrails_version,
  );
}

async function update(deps: AdminDeps, request: BodyRequest<Update & UpdateFields>) {
  const { managed_by: _, ...sent } = request.body;
  const { id } = await updateResource(deps, request, createWriter(), {
    columns: async (tx, row) => {
      await requireGuardrails(tx, row, sent, []);
      return { defaults: mergedDefaults(row.defaults, withoutAbsentSides(sent)) };
    },
  });
  return { id };
}

/** Removes sides that were not sent; an empty list becomes null. */
function withoutAbsentSides(sent: Update): Update {
  const sides = defaultGuardrailFields.flatMap((side) => {
    const list = sent[side];
    return list === undefined ? [] : [[side, list?.length ? list : null] as const];
  });
  return Object.fromEntries(sides);
}

/** Returns `{}`. */
async function clear(deps: AdminDeps, request: ItemRequest): Promise<Record<string, never>> {
  const { now } = request;
  const writer = createWriter();
  return deleteResource(deps, request, writer, async (tx, row: WorkspaceResource) => {
    const nothing = Object.fromEntries(defaultGuardrailFields.map((side) => [side, null]));
    const defaults = mergedDefaults(row.defaults, nothing);
    if (defaults !== row.defaults) {
      const columns = { defaults, last_updated_at: now };
      await writer.write(tx, row.organisation_id, row.id, columns);
    }
    return {};
  });
}
