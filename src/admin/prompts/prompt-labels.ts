/** HTTP routes for labels: names for versions of prompts (docs/reference/resources.md, Prompts). */
import { z } from 'zod';
import { PromptLabelCreate, PromptLabelUpdate } from '../../model/prompts/prompt-label.ts';
import { pageQuery } from '../../model/wire/paging.ts';
import * as promptLabels from '../../store/prompts/prompt-labels.ts';
import * as promptVersions from '../../store/prompts/prompt-versions.ts';
import type { AdminDeps } from '../request/deps.ts';
import { createFields, updateFields, WorkspaceQuery } from '../request/frame-fields.ts';
import { computed, constant, record, timestamp } from '../request/record.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { baseColumns, type ResourceWriter, removeNamedRow } from '../request/resource-change.ts';
import { RowRoutes } from '../request/row-routes.ts';
import { idOr404, requireOwnOrganisation } from '../request/scoping.ts';
import { requireUnique } from '../request/unique.ts';
import { findVisible, placeOfList, requireWriter } from './prompt-access.ts';

const label = record<promptLabels.StoredPromptLabel>()({
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  color_code: z.string().nullable(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  /** Whether prompts of every workspace can use it. */
  is_universal: computed(
    z.boolean(),
    (row: promptLabels.StoredPromptLabel) => row.workspace_id === null,
  ),
  status: constant('active'),
  created_at: timestamp,
  last_updated_at: timestamp,
  object: constant('label'),
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
  snapshot: snapshotOf(
    promptLabels.listAllForOrganisation,
    label.toSpec('name', 'workspace_id', 'description', 'color_code'),
  ),
  contents: promptLabels.contents,
};

function promptLabelRoutes(deps: AdminDeps) {
  const on = new RowRoutes(deps, '/labels/:labelId', (action) => `prompts.${action}`, {
    writer,
    record: label,
  });
  return [
    on.create({
      summary: 'Create a label for versions of prompts',
      body: PromptLabelCreate.extend(createFields),
      insert: async (tx, request, workspace) => {
        const { name, description = null, color_code = null } = request.body;
        const row = { ...baseColumns(request, workspace), name, description, color_code };
        await requireWriter(tx, request.caller, row);
        await requireUnique(promptLabels.insert(tx, row), undefined, 'name');
        return { row, changes: { name } };
      },
    }),
    on.list({
      summary: 'List labels; with a workspace, those that its prompts can use',
      query: WorkspaceQuery.extend({
        organisation_id: createFields.organisation_id,
        search: z.string().max(255).optional(),
        ...pageQuery(),
      }),
      readPage: async (db, { caller, query }, page) => {
        requireOwnOrganisation(caller, query.organisation_id);
        const workspace = await placeOfList(db, caller, query.workspace_id);
        const place = workspace === null ? undefined : ['', workspace.id];
        const filter = { organisation_id: caller.organisationId, place };
        return promptLabels.listMatching(db, filter, page, query.search);
      },
    }),
    on.get({
      summary: 'Get a label',
      find: (db, request, id) =>
        findVisible(db, request, promptLabels.findById(db, request.caller.organisationId, id)),
    }),
    on.update({
      summary: 'Update a label; fields that are not sent stay',
      body: PromptLabelUpdate.extend(updateFields),
      ignoredFields: ['id', 'organisation_id'],
      columns: ({ name, description, color_code }) => ({ name, description, color_code }),
    }),
    on.remove({
      summary: 'Delete a label and remove it from all versions',
      remove: async (tx, row) => {
        await promptVersions.clearLabel(tx, row.organisation_id, row.id);
        return removeNamedRow(promptLabels.deleteById)(tx, row);
      },
    }),
  ];
}
