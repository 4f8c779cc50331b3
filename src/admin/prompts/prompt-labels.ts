/** HTTP routes for labels: names for versions of prompts (docs/reference/resources.md, Prompts). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { PromptLabelCreate, PromptLabelUpdate } from '../../model/prompts/prompt-label.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import * as promptLabels from '../../store/prompts/prompt-labels.ts';
import * as promptVersions from '../../store/prompts/prompt-versions.ts';
import type { AdminDeps } from '../request/deps.ts';
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
  removeNamedRow,
  updateResource,
} from '../request/resource-change.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { idOr404, requireOwnOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { withVersionTag } from '../request/version.ts';
import { findVisible, placeOfList, requireWriter } from './prompt-access.ts';
import {
  PromptLabelRecord,
  promptLabelToRecord,
  promptLabelToSpec,
} from './prompt-label-record.ts';

const CreateBody = PromptLabelCreate.extend(createFields);
const UpdateBody = PromptLabelUpdate.extend(updateFields);
const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  search: z.string().max(255).optional(),
  ...pageQuery(),
});

const writer: ResourceWriter<promptLabels.StoredPromptLabel> = {
  kind: 'PromptLabel',
  param: 'labelId',
  requireRight: requireWriter,
  lock: (tx, organisationId, id) => promptLabels.findByIdForUpdate(tx, organisationId, idOr404(id)),
  write: (tx, organisationId, id, columns) =>
    requireUnique(promptLabels.update(tx, organisationId, id, columns), undefined, 'name'),
};

export const promptLabelResource: Resource = {
  kind: 'PromptLabel',
  features: [],
  routes: promptLabelRoutes,
  snapshot: snapshotOf(promptLabels.listAllForOrganisation, promptLabelToSpec),
  contents: promptLabels.contents,
};

function promptLabelRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/labels/:labelId', (action) => `prompts.${action}`);
  return [
    on.create({
      summary: 'Create a label for versions of prompts',
      body: CreateBody,
      response: z.object({ id: z.uuid() }),
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List labels; with a workspace, those that its prompts can use',
      query: ListQuery,
      response: listSchema(PromptLabelRecord),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a label',
      query: WorkspaceQuery,
      response: PromptLabelRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Update a label; fields that are not sent stay',
      body: UpdateBody,
      ignoredFields: ['id', 'organisation_id'],
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Delete a label and remove it from all versions',
      handle: (request) =>
        deleteResource(deps, request, writer, async (tx, row) => {
          await promptVersions.clearLabel(tx, row.organisation_id, row.id);
          return removeNamedRow(promptLabels.deleteById)(tx, row);
        }),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body } = request;
  const { id } = await createResource(deps, request, 'PromptLabel', async (tx, workspace) => {
    const row = {
      ...baseColumns(request, workspace),
      name: body.name,
      description: body.description ?? null,
      color_code: body.color_code ?? null,
    };
    await requireWriter(tx, caller, row);
    await requireUnique(promptLabels.insert(tx, row), undefined, 'name');
    return { row, changes: { name: row.name } };
  });
  return { id };
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await placeOfList(db, caller, query.workspace_id);
  const filter = {
    ...(workspace === null ? {} : { workspaceId: workspace.id }),
    ...(query.search === undefined ? {} : { search: query.search }),
  };
  const page = await promptLabels.list(db, caller.organisationId, filter, toPage(query));
  return listReply(page.rows.values().map(promptLabelToRecord), page.total);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller, params } = request;
  const db = deps.database.readable;
  const finding = promptLabels.findById(db, caller.organisationId, idOr404(params.labelId!));
  const row = await findVisible(db, request, finding);
  return withVersionTag(promptLabelToRecord(row), row);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { name, description, color_code } = request.body;
  await updateResource(deps, request, writer, {
    columns: () => ({ name, description, color_code }),
  });
  return {};
}
