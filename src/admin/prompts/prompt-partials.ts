/** HTTP routes for partials: templates that prompts include (docs/reference/resources.md, Prompts). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { PromptPublish } from '../../model/prompts/prompt.ts';
import {
  type PartialContent,
  PromptPartialCreate,
  PromptPartialUpdate,
} from '../../model/prompts/prompt-partial.ts';
import { templateFaults } from '../../model/prompts/prompt-rendering.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { rejectFaults } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as promptCollections from '../../store/prompts/prompt-collections.ts';
import * as promptPartials from '../../store/prompts/prompt-partials.ts';
import * as promptVersions from '../../store/prompts/prompt-versions.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
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
import { insertUnderSlug } from '../request/slugs.ts';
import { withVersionTag } from '../request/version.ts';
import { findVisible, placeOfList, requireWriter } from './prompt-access.ts';
import {
  PromptPartialListItem,
  PromptPartialRecord,
  PromptPartialVersionItem,
  promptPartialToListItem,
  promptPartialToRecord,
  promptPartialToSpec,
  promptPartialToVersionItem,
} from './prompt-partial-record.ts';
import { VersionQuery, versionReferenceOf } from './prompt-versions.ts';
import { planVersions, type VersionPlan } from './version-plan.ts';

const slugForm = { prefix: 'pp', nameLengthMax: 10 };

const CreateBody = PromptPartialCreate.extend(createFields);
const UpdateBody = PromptPartialUpdate.extend(updateFields);
const ListQuery = WorkspaceQuery.extend({
  /** Partials belong to workspaces: selects the workspace of this collection. */
  collection_id: z.string().min(1).max(255).optional(),
  search: z.string().max(255).optional(),
  ...pageQuery(),
});
const PageQuery = WorkspaceQuery.extend(pageQuery());
const PublicationBody = PromptPublish.extend({ workspace_id: updateFields.workspace_id });

const Created = z.object({ id: z.uuid(), slug: z.string(), version_id: z.uuid() });
/** Empty when the request changed no version. */
const Updated = z.object({
  id: z.uuid().optional(),
  slug: z.string().optional(),
  prompt_partial_version_id: z.uuid().optional(),
});

const writer: ResourceWriter<promptPartials.StoredPromptPartial> = {
  kind: 'PromptPartial',
  param: 'partialId',
  requireRight: requireWriter,
  lock: promptPartials.findByIdOrSlugForUpdate,
  write: promptPartials.update,
};

export const promptPartialResource: Resource = {
  kind: 'PromptPartial',
  features: [],
  routes: promptPartialRoutes,
  snapshot: snapshotOf(promptPartials.listAllForOrganisation, promptPartialToSpec),
  contents: promptPartials.contents,
};

function promptPartialRoutes(deps: AdminDeps): Route<Principal>[] {
  const path = '/prompts/partials/:partialId';
  const on = resourceRoutes(path, (action) => `prompts.${action}`);
  return [
    on.create({
      summary: 'Create a partial, whose first version is published',
      body: CreateBody,
      response: Created,
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List partials without their templates',
      query: ListQuery,
      response: listSchema(PromptPartialListItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a partial with its published version, or with another one',
      query: VersionQuery,
      response: PromptPartialRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Update a partial; new content becomes a new version',
      body: UpdateBody,
      ignoredFields: ['id', 'slug'],
      response: Updated,
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Delete a partial with its versions',
      handle: (request) =>
        deleteResource(deps, request, writer, removeNamedRow(promptPartials.deleteById)),
    }),
    route({
      mounts: everyMount,
      path: `${path}/versions`,
      method: 'GET',
      scope: 'prompts.read',
      summary: 'List the versions of a partial, newest first',
      query: PageQuery,
      response: listSchema(PromptPartialVersionItem),
      handle: (request) => listVersions(deps, request),
    }),
    route({
      mounts: everyMount,
      path: `${path}/makeDefault`,
      method: 'PUT',
      scope: 'prompts.publish',
      versioned: true,
      summary: 'Publish a version of a partial',
      body: PublicationBody,
      response: z.object({}),
      handle: (request) => publish(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body, now } = request;
  const { string, version_description = null } = body;
  const content: PartialContent = requireValidTemplate({ string, version_description });
  const row = await createResource(deps, request, 'PromptPartial', async (tx, workspace) => {
    const unnamed = {
      ...baseColumns(request, workspace),
      name: body.name,
      status: 'active' as const,
      content: JSON.stringify(content),
      version_id: newId(),
      version_number: 1,
    };
    await requireWriter(tx, caller, unnamed);
    const row = await insertUnderSlug(slugForm, body.slug, unnamed, (named) =>
      promptPartials.insert(tx, named),
    );
    const version = { name: row.name, content: row.content, created_by: caller.id };
    await promptVersions.insertVersion(tx, row, {
      ...version,
      id: row.version_id,
      created_at: now,
    });
    return { row, changes: { name: row.name } };
  });
  return { id: row.id, slug: row.slug, version_id: row.version_id };
}

/** @throws ApiError `invalid` for an invalid template */
function requireValidTemplate(content: PartialContent): PartialContent {
  rejectFaults(templateFaults({ string: content.string, is_raw_template: 1 }));
  return content;
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const db = deps.database.readable;
  const workspace = await findPlace(db, caller, query);
  const filter = { workspaceId: workspace?.id, search: query.search || undefined };
  const page = toPage(query);
  const { listedColumns } = promptPartials;
  const stored = await promptPartials.list(db, caller.organisationId, filter, page, listedColumns);
  return listReply(stored.rows.values().map(promptPartialToListItem), stored.total);
}

/** The workspace that a list names, or that of the collection that it names. */
async function findPlace(
  db: Db,
  caller: Principal,
  { workspace_id, collection_id: reference }: z.infer<typeof ListQuery>,
) {
  const workspace = await placeOfList(db, caller, workspace_id);
  if (reference === undefined) return workspace;
  const collection = await promptCollections.findByIdOrSlug(db, caller.organisationId, reference);
  const isElsewhere = workspace !== null && workspace.id !== collection?.workspace_id;
  if (collection === undefined || isElsewhere) {
    throw new ApiError('notFound', undefined, 'collection_id');
  }
  return workspace ?? placeOfList(db, caller, collection.workspace_id);
}

async function get(deps: AdminDeps, request: QueryRequest<z.infer<typeof VersionQuery>>) {
  const db = deps.database.readable;
  const { name, version: reference } = versionReferenceOf(request, 'partialId');
  const row = await find(deps, request, name);
  const version = await promptVersions.find(db, row, reference);
  if (version === undefined) throw new ApiError('notFound', undefined, 'version');
  return withVersionTag(promptPartialToRecord(row, version), row);
}

async function listVersions(deps: AdminDeps, request: QueryRequest<z.infer<typeof PageQuery>>) {
  const row = await find(deps, request, request.params.partialId!);
  const page = await promptVersions.list(deps.database.readable, row, toPage(request.query));
  const items = async function* () {
    for await (const version of page.rows) yield promptPartialToVersionItem(row, version);
  };
  return listReply(items(), page.total);
}

function find(deps: AdminDeps, request: ItemRequest, name: string) {
  const db = deps.database.readable;
  const finding = promptPartials.findByIdOrSlug(db, request.caller.organisationId, name);
  return findVisible(db, request, finding);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { name, status, string, version_description } = request.body;
  let plan: VersionPlan | null = null;
  const { id, slug } = await updateResource(deps, request, writer, {
    columns: async (tx, row) => {
      plan = await planVersions<PartialContent>(tx, request, row, {
        next: (before) =>
          requireValidTemplate({
            string: string ?? before.string,
            version_description:
              version_description === undefined ? before.version_description : version_description,
          }),
        isSame: (one, other) => one.string === other.string,
        corrected: (published) => published,
      });
      return { name, status, ...plan.columns };
    },
    writeElsewhere: (tx, row) => plan!.follow(tx, row),
  });
  if (string === undefined) return {};
  return { id, slug, prompt_partial_version_id: plan!.versionId };
}

async function publish(deps: AdminDeps, request: BodyRequest<z.infer<typeof PublicationBody>>) {
  const { version: number } = request.body;
  await updateResource(deps, request, writer, {
    columns: async (tx, row) => {
      const version = await promptVersions.find(tx, row, String(number));
      if (version === undefined) throw new ApiError('notFound', undefined, 'version');
      const { content, id: version_id } = version;
      return { content, version_id, version_number: version.number };
    },
  });
  return {};
}
