/**
 * HTTP routes for secret references: values that stay in a secret manager (docs/reference/resources.md,
 * Secret references).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { ManagerType } from '../../model/secrets/secret-manager.ts';
import {
  SecretReferenceCreate,
  SecretReferenceUpdate,
} from '../../model/secrets/secret-reference.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import * as secretReferences from '../../store/resources/secret-references.ts';
import type { AdminDeps } from '../request/deps.ts';
import {
  createFields,
  type ItemRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { requireOwnOrganisation, resolveWorkspace } from '../request/scoping.ts';
import { TagsQuery } from '../request/tags-query.ts';
import { withVersionTag } from '../request/version.ts';
import {
  createSecretReference,
  deleteSecretReference,
  updateSecretReference,
} from './secret-reference-changes.ts';
import {
  SecretReferenceItem,
  SecretReferenceRecord,
  secretReferenceToItem,
  secretReferenceToRecord,
  secretReferenceToSpec,
} from './secret-reference-record.ts';

const CreateBody = SecretReferenceCreate.extend(createFields);
const UpdateBody = SecretReferenceUpdate.extend({
  managed_by: updateFields.managed_by,
});

const ListQuery = WorkspaceQuery.extend({
  organisation_id: createFields.organisation_id,
  manager_type: ManagerType.optional(),
  tags: TagsQuery.optional(),
  search: z.string().max(255).optional(),
  ...pageQuery({ sizeDefault: 20 }),
});

export const secretReferenceResource: Resource = {
  kind: 'SecretReference',
  features: [],
  routes: secretReferenceRoutes,
  snapshot: snapshotOf(secretReferences.listAllForOrganisation, secretReferenceToSpec),
  contents: secretReferences.contents,
};

function secretReferenceRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes(
    '/secret-references/:secretReferenceId',
    (action) => `secret_references.${action}`,
  );
  return [
    on.create({
      summary: 'Create a secret reference; its manager is not contacted',
      body: CreateBody,
      response: z.object({
        id: z.uuid(),
        slug: z.string(),
        object: z.literal('secret-reference'),
      }),
      handle: (request) => createSecretReference(deps, request),
    }),
    on.list({
      summary: 'List secret references',
      query: ListQuery,
      response: listSchema(SecretReferenceItem),
      handle: (request) => list(deps, request),
    }),
    on.get({
      summary: 'Get a secret reference; credentials are masked',
      query: WorkspaceQuery,
      response: SecretReferenceRecord,
      handle: (request) => get(deps, request),
    }),
    on.update({
      summary:
        'Update a secret reference; fields that are not sent stay, auth_config is merged by field',
      body: UpdateBody,
      ignoredFields: ['id', 'slug', 'manager_type', 'organisation_id'],
      response: z.object({}),
      handle: (request) => updateSecretReference(deps, request),
    }),
    on.remove({
      summary: 'Delete a secret reference that no integration uses',
      handle: (request) => deleteSecretReference(deps, request),
    }),
  ];
}

async function list(deps: AdminDeps, request: QueryRequest<z.infer<typeof ListQuery>>) {
  const { caller, query } = request;
  const db = deps.database.readable;
  requireOwnOrganisation(caller, query.organisation_id);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const filter = {
    managerType: query.manager_type,
    tags: query.tags,
    search: query.search === '' ? undefined : query.search,
    usableIn: workspace?.id,
  };
  const stored = await secretReferences.list(db, caller.organisationId, filter, toPage(query));
  return listReply(stored.rows.map(secretReferenceToItem), stored.total);
}

/** A caller that is bound to a workspace or names one finds only references that it may use. */
async function get(deps: AdminDeps, request: ItemRequest) {
  const { caller, params, query } = request;
  const db = deps.database.readable;
  const { organisationId } = caller;
  const named = params.secretReferenceId!;
  const row = await secretReferences.findByIdOrSlug(db, organisationId, named);
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  if (row === undefined) throw new ApiError('notFound');
  const isUsable =
    workspace === null || row.allow_all_workspaces !== 0 || row.workspaceIds.includes(workspace.id);
  if (!isUsable) throw new ApiError('notFound');
  return withVersionTag(secretReferenceToRecord(row), row);
}
