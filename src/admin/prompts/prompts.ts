/** HTTP routes for prompts (docs/reference/resources.md, Prompts). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { PromptCreate, PromptUpdate } from '../../model/prompts/prompt.ts';
import {
  hasSameContent,
  mergeContent,
  type PromptContent,
  promptModel,
} from '../../model/prompts/prompt-content.ts';
import { templateFaults } from '../../model/prompts/prompt-rendering.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { JsonRecord } from '../../model/wire/json-record.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as promptCollections from '../../store/prompts/prompt-collections.ts';
import * as promptVersions from '../../store/prompts/prompt-versions.ts';
import * as prompts from '../../store/prompts/prompts.ts';
import type { AdminDeps } from '../request/deps.ts';
import {
  type BodyRequest,
  createFields,
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
import { insertUnderSlug } from '../request/slugs.ts';
import { placeOfList, requireWriter } from './prompt-access.ts';
import { collectionFor, findWithin, providerSlug } from './prompt-places.ts';
import { PromptListItem, PromptRecord, promptToListItem, promptToSpec } from './prompt-record.ts';
import { promptRenderRoutes } from './prompt-render.ts';
import {
  getVersion,
  promptVersionRoutes,
  VersionQuery,
  versionReferenceOf,
} from './prompt-versions.ts';
import { planVersions, type VersionPlan } from './version-plan.ts';

const slugForm = { prefix: 'pp', nameLengthMax: 10 };

const CreateBody = PromptCreate.extend(createFields);
const UpdateBody = PromptUpdate.extend({
  ...updateFields,
  /** Alias of `template_metadata`. */
  prompt_metadata: JsonRecord.nullable().optional(),
});
const ListQuery = WorkspaceQuery.extend({
  collection_id: z.string().min(1).max(255).optional(),
  search: z.string().max(255).optional(),
  ...pageQuery(),
});

const Created = z.object({
  id: z.uuid(),
  slug: z.string(),
  version_id: z.uuid(),
  object: z.literal('prompt'),
});
/** Empty when the request changed no version. */
const Updated = z.object({
  id: z.uuid().optional(),
  slug: z.string().optional(),
  prompt_version_id: z.uuid().optional(),
  object: z.literal('prompt').optional(),
});

const writer: ResourceWriter<prompts.StoredPrompt> = {
  kind: 'Prompt',
  param: 'promptId',
  requireRight: requireWriter,
  lock: prompts.findByIdOrSlugForUpdate,
  write: prompts.update,
};

export const promptResource: Resource = {
  kind: 'Prompt',
  features: [],
  routes: promptRoutes,
  snapshot: snapshotOf(async (tx, organisationId, which) => {
    const rows = await prompts.listAllForOrganisation(tx, organisationId, which);
    const defaults = await promptCollections.listDefaultIds(tx, organisationId);
    return rows.map((row) => ({ ...row, isInDefault: defaults.has(row.collection_id) }));
  }, promptToSpec),
  contents: prompts.contents,
};

function promptRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/prompts/:promptId', (action) => `prompts.${action}`);
  return [
    on.create({
      summary: 'Create a prompt, whose first version is published',
      body: CreateBody,
      response: Created,
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List prompts without their templates',
      query: ListQuery,
      response: listSchema(PromptListItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a prompt with its published version, or with another one',
      query: VersionQuery,
      response: PromptRecord,
      handle: (request) => getVersion(deps, request, versionReferenceOf(request, 'promptId')),
    }),
    on.update({
      summary: 'Update a prompt; new content becomes a new version',
      body: UpdateBody,
      ignoredFields: ['id', 'slug', 'patch'],
      response: Updated,
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Delete a prompt with its versions',
      handle: (request) =>
        deleteResource(deps, request, writer, removeNamedRow(prompts.deleteById)),
    }),
    ...promptVersionRoutes(deps, writer),
    ...promptRenderRoutes(deps),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body, now } = request;
  const { organisationId } = caller;
  const make = async (tx: Db, named: { readonly id: string } | null) => {
    const collection = await collectionFor(tx, caller, named, body.collection_id);
    const { workspace_id } = collection;
    const virtual_key = await providerSlug(tx, organisationId, workspace_id, body.virtual_key);
    const content = requireValidTemplate(mergeContent({ ...body, virtual_key }));
    const unnamed = {
      ...baseColumns(request, { id: workspace_id }),
      collection_id: collection.id,
      name: body.name,
      content: JSON.stringify(content),
      model: promptModel(content),
      version_id: newId(),
      version_number: 1,
    };
    await requireWriter(tx, caller, unnamed);
    const row = await insertUnderSlug(slugForm, body.slug, unnamed, (named) =>
      prompts.insert(tx, named),
    );
    const version = { name: row.name, content: row.content, created_by: caller.id };
    await promptVersions.insertVersion(tx, row, {
      ...version,
      id: row.version_id,
      created_at: now,
    });
    return { row, changes: { name: row.name } };
  };
  const { id, slug, version_id } = await createResource(deps, request, 'Prompt', make);
  return { id, slug, version_id, object: 'prompt' as const };
}

/** @throws ApiError `invalid` for an invalid template */
function requireValidTemplate(content: PromptContent): PromptContent {
  rejectFaults(templateFaults(content));
  return content;
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  const workspace = await placeOfList(db, caller, query.workspace_id);
  const { collection_id: reference, search } = query;
  const collection =
    reference === undefined
      ? null
      : await promptCollections.findByIdOrSlug(db, organisationId, reference);
  if (collection === undefined) throw new ApiError('notFound', undefined, 'collection_id');
  const filter = {
    workspaceId: workspace?.id,
    collectionId: collection?.id,
    search: search || undefined,
  };
  const page = await prompts.list(db, organisationId, filter, toPage(query));
  return listReply(page.rows.values().map(promptToListItem), page.total);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { body } = request;
  const { prompt_metadata, ...rest } = body;
  const sent = { ...rest, template_metadata: rest.template_metadata ?? prompt_metadata };
  let plan: VersionPlan | null = null;
  const { id, slug } = await updateResource(deps, request, writer, {
    columns: async (tx, row) => {
      const { organisation_id, workspace_id } = row;
      const key = await providerSlug(tx, organisation_id, workspace_id, sent.virtual_key);
      plan = await planVersions<PromptContent>(tx, request, row, {
        next: (before) => requireValidTemplate(mergeContent({ ...sent, virtual_key: key }, before)),
        isSame: hasSameContent,
        corrected: (published, { virtual_key }) =>
          sent.virtual_key === undefined ? published : { ...published, virtual_key },
      });
      const { content } = plan.columns;
      return {
        name: body.name,
        ...(await newCollectionOf(tx, row, body.collection_id)),
        ...plan.columns,
        ...(content === undefined ? {} : { model: promptModel(JSON.parse(content)) }),
      };
    },
    writeElsewhere: (tx, row) => plan!.follow(tx, row),
  });
  if (!hasVersionFields(sent)) return {};
  return { id, slug, prompt_version_id: plan!.versionId, object: 'prompt' as const };
}

async function newCollectionOf(tx: Db, row: prompts.StoredPrompt, reference: string | undefined) {
  if (reference === undefined) return {};
  const { organisation_id, workspace_id } = row;
  return { collection_id: (await findWithin(tx, organisation_id, workspace_id, reference)).id };
}

/** Whether the body contains fields that belong to a version. */
function hasVersionFields(sent: z.infer<typeof PromptUpdate>): boolean {
  const { string, parameters, model, functions, tools, tool_choice, is_raw_template } = sent;
  const fields = [string, parameters ?? undefined, model, functions, tools, tool_choice];
  return [...fields, sent.template_metadata, is_raw_template].some((value) => value !== undefined);
}
