/** HTTP routes for collections of prompts (docs/reference/resources.md, Prompts). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import {
  collectionSlugForm,
  PromptCollectionCreate,
  PromptCollectionUpdate,
} from '../../model/prompts/prompt-collection.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as promptCollections from '../../store/prompts/prompt-collections.ts';
import * as organisationLocks from '../../store/rows/organisation-locks.ts';
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
  updateResource,
} from '../request/resource-change.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { insertUnderSlug } from '../request/slugs.ts';
import { withVersionTag } from '../request/version.ts';
import { findVisible, placeOfList, requireWriter } from './prompt-access.ts';
import {
  PromptCollectionListItem,
  PromptCollectionRecord,
  promptCollectionToListItem,
  promptCollectionToRecord,
  promptCollectionToSpec,
} from './prompt-collection-record.ts';

const CreateBody = PromptCollectionCreate.extend(createFields);
const UpdateBody = PromptCollectionUpdate.extend(updateFields);
const ListQuery = WorkspaceQuery.extend({
  search: z.string().max(255).optional(),
  ...pageQuery(),
});

type CollectionRow = promptCollections.StoredPromptCollection;

const writer: ResourceWriter<CollectionRow> = {
  kind: 'PromptCollection',
  param: 'collectionId',
  requireRight: requireWriter,
  lock: promptCollections.findByIdOrSlugForUpdate,
  write: promptCollections.update,
  admit: (_, row, action) => {
    // As in the API that clients know, the default collection is not found on delete.
    if (action === 'delete' && row.is_default === 1) throw new ApiError('notFound');
  },
};

/** Locks the organisation, so that concurrent moves cannot create a cycle. */
const exclusiveWriter: ResourceWriter<CollectionRow> = {
  ...writer,
  lock: async (tx, organisationId, reference) => {
    await organisationLocks.lock(tx, organisationId);
    return promptCollections.findByIdOrSlugForUpdate(tx, organisationId, reference);
  },
};

export const promptCollectionResource: Resource = {
  kind: 'PromptCollection',
  features: [],
  routes: promptCollectionRoutes,
  snapshot: snapshotOf(promptCollections.listCreated, promptCollectionToSpec),
  contents: promptCollections.contents,
};

function promptCollectionRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/collections/:collectionId', (action) => `prompts.${action}`);
  return [
    on.create({
      summary: 'Create a collection of prompts',
      body: CreateBody,
      response: z.object({ id: z.uuid(), slug: z.string(), object: z.literal('collection') }),
      handle: (request) => create(deps, request),
    }),
    on.list({
      summary: 'List collections with their contents',
      query: ListQuery,
      response: listSchema(PromptCollectionListItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a collection with its direct subcollections',
      query: WorkspaceQuery,
      response: PromptCollectionRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary: 'Rename a collection, or move it into another',
      body: UpdateBody,
      ignoredFields: ['id', 'slug', 'description'],
      response: z.object({}),
      handle: (request) => update(deps, request),
    }),
    on.remove({
      summary: 'Delete a collection that is empty and not the default one',
      handle: (request) => remove(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: BodyRequest<z.infer<typeof CreateBody>>) {
  const { caller, body } = request;
  const make = async (tx: Db, workspace: { readonly id: string } | null) => {
    if (workspace === null) {
      throw validationError({ path: ['workspace_id'], message: 'is required' });
    }
    const parent = await findParent(tx, caller.organisationId, workspace.id, body);
    const unnamed = {
      ...baseColumns(request, workspace),
      parent_collection_id: parent?.id ?? null,
      name: body.name,
      is_default: 0,
    };
    await requireWriter(tx, caller, unnamed);
    const row = await insertUnderSlug(collectionSlugForm, body.slug, unnamed, (named) =>
      promptCollections.insert(tx, named),
    );
    return { row, changes: { name: row.name } };
  };
  const { id, slug } = await createResource(deps, request, 'PromptCollection', make);
  return { id, slug, object: 'collection' as const };
}

/** Finds a collection of the same workspace and locks it until the transaction ends. */
async function findParent(
  tx: Db,
  organisationId: string,
  workspaceId: string,
  { parent_collection_id: reference }: z.infer<typeof UpdateBody>,
): Promise<CollectionRow | null> {
  if (reference === undefined || reference === null) return null;
  const row = await promptCollections.findByIdOrSlugForShare(tx, organisationId, reference);
  if (row?.workspace_id !== workspaceId) {
    throw new ApiError('notFound', undefined, 'parent_collection_id');
  }
  return row;
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  const workspace = await placeOfList(db, caller, query.workspace_id);
  const filter = { workspaceId: workspace?.id, search: query.search || undefined };
  const page = await promptCollections.list(db, organisationId, filter, toPage(query));
  const ids = page.rows.map(({ id }) => id);
  const details = await promptCollections.detailsOf(db, organisationId, ids);
  const items = page.rows
    .values()
    .map((row) => promptCollectionToListItem(row, details.get(row.id)!));
  return listReply(items, page.total);
}

async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller, params } = request;
  const { organisationId } = caller;
  const db = deps.database.readable;
  const finding = promptCollections.findByIdOrSlug(db, organisationId, params.collectionId!);
  const row = await findVisible(db, request, finding);
  const children = await promptCollections.listChildren(db, organisationId, row.id);
  const ids = children.map(({ id }) => id);
  const details = await promptCollections.detailsOf(db, organisationId, ids);
  return withVersionTag(promptCollectionToRecord(row, children, details), row);
}

async function update(deps: AdminDeps, request: BodyRequest<z.infer<typeof UpdateBody>>) {
  const { body } = request;
  const course = body.parent_collection_id === undefined ? writer : exclusiveWriter;
  await updateResource(deps, request, course, {
    columns: async (tx, row) => ({
      name: body.name,
      parent_collection_id: await parentAfter(tx, row, body),
    }),
  });
  return {};
}

/** Undefined when the parent does not change. */
async function parentAfter(
  tx: Db,
  { organisation_id: organisationId, workspace_id, id, is_default }: CollectionRow,
  body: z.infer<typeof UpdateBody>,
): Promise<string | null | undefined> {
  if (body.parent_collection_id === undefined) return undefined;
  const parent = await findParent(tx, organisationId, workspace_id, body);
  if (parent === null) return null;
  const path = ['parent_collection_id'];
  if (is_default === 1) {
    throw validationError({ path, message: 'cannot be set for the default collection' });
  }
  if (await promptCollections.isWithin(tx, organisationId, parent.id, id)) {
    throw validationError({ path, message: 'is the collection itself or one of its descendants' });
  }
  return parent.id;
}

async function remove(deps: AdminDeps, request: ItemRequest) {
  return deleteResource(deps, request, writer, async (tx, row) => {
    const { organisation_id: organisationId, id } = row;
    const details = (await promptCollections.detailsOf(tx, organisationId, [id])).get(id)!;
    if (details.prompts + details.collections > 0) {
      const message = `The collection contains ${details.prompts} prompts and ${details.collections} collections; delete or move them first`;
      throw new ApiError('conflict', message);
    }
    await promptCollections.deleteById(tx, organisationId, id);
    return { name: row.name };
  });
}
