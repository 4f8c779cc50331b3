/** HTTP routes for API keys (docs/reference/resources.md, API keys). */

import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import {
  ApiKeyCreate,
  ApiKeyRotate,
  ApiKeySubType,
  ApiKeyType,
  ApiKeyUpdate,
} from '../../model/people/api-key.ts';
import { grantsScope } from '../../model/people/scopes.ts';
import { commaList } from '../../model/wire/comma-list.ts';
import { listReply, listSchema, pageQuery, toPage } from '../../model/wire/paging.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import { mapItems } from '../../model/wire/streamed-list.ts';
import { ResponseTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import * as apiKeys from '../../store/resources/api-keys.ts';
import * as usageBudgets from '../../store/usage/usage-budgets.ts';
import { rotationOfRow } from '../access/rotation-record.ts';
import { type AdminDeps, type AdminRequest, everyMount, forOwners } from '../request/deps.ts';
import {
  type BodyRequest,
  createFields,
  type ItemRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { type Resource, snapshotOf } from '../request/resource.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { findOr404, idOr404, requireWorkspace, resolveWorkspace } from '../request/scoping.ts';
import { withVersionTag } from '../request/version.ts';
import {
  apiKeyScope,
  createApiKey,
  deleteApiKey,
  type KeyAction,
  ofSubType,
  requireKeyScope,
  updateApiKey,
} from './api-key-changes.ts';
import { ApiKeyRecord, apiKeyToRecord, apiKeyToSpec } from './api-key-record.ts';
import { rotate, rotateFields } from './api-key-rotation.ts';

const idsMax = 100;
const ignoredFields = ['type', 'sub-type', 'sub_type'];

const CreateBody = ApiKeyCreate.extend({ ...createFields, key: z.string().max(256).optional() });
const CreateReply = z.object({ id: z.uuid(), key: z.string(), object: z.literal('api-key') });
const RotateBody = ApiKeyRotate.extend(rotateFields);
const RotateReply = z.object({
  id: z.uuid(),
  key: z.string(),
  /** Null while the previous value waits for the delivery of this one. */
  key_transition_expires_at: ResponseTimestamp.nullable(),
});
const ListQuery = WorkspaceQuery.extend({
  ...pageQuery(),
  /** Comma-separated. */
  ids: z
    .string()
    .min(1)
    .meta({ pattern: '^[0-9a-fA-F-]{36}(,[0-9a-fA-F-]{36}){0,99}$' })
    .optional(),
  type: ApiKeyType.optional(),
  sub_type: ApiKeySubType.optional(),
  user_id: z.uuid().toLowerCase().optional(),
  /** Part of the name. */
  name: z.string().min(1).max(255).optional(),
  status: ApiKeyRecord.shape.status.optional(),
});

export const apiKeyResource: Resource = {
  kind: 'ApiKey',
  features: ['apiAccess'],
  routes: apiKeyRoutes,
  snapshot: snapshotOf(apiKeys.listAllForOrganisation, apiKeyToSpec, rotationOfRow),
  contents: apiKeys.contents,
};

function apiKeyRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    ...createRoutes(deps),
    ...listRoutes(deps),
    ...itemRoutes(deps, '/api-keys/:id', ApiKeySubType.options),
    // The same routes below the v2 lists of one sub-type.
    ...ApiKeySubType.options.flatMap((subType) =>
      itemRoutes(deps, `/api-keys/${subType}/:id`, [subType]).map((item) => ({
        ...item,
        mounts: { v2: everyMount.v2 },
      })),
    ),
  ];
}

/** Keys of other sub-types are not found. */
function itemRoutes(
  deps: AdminDeps,
  path: `/${string}/:${string}`,
  subTypes: readonly ApiKeySubType[],
): Route<Principal>[] {
  const on = resourceRoutes(path, (action) => anyScope(action, subTypes));
  return [
    on.get({
      summary: 'Get an API key',
      query: WorkspaceQuery,
      response: ApiKeyRecord,
      handle: (request) => get(deps, request, subTypes),
    }),
    on.update({
      summary: 'Update an API key',
      body: ApiKeyUpdate.extend(updateFields),
      ignoredFields,
      response: z.object({}),
      handle: (request) => updateApiKey(deps, request, subTypes),
    }),
    on.remove({
      summary: 'Delete an API key',
      handle: (request) => deleteApiKey(deps, request, subTypes),
    }),
    route({
      ...forOwners,
      method: 'POST',
      returnsCredentialOf: 'ApiKey',
      path: `${path}/rotate`,
      mounts: everyMount,
      scope: anyScope('rotate', subTypes),
      versioned: true,
      summary:
        'Rotate the value of an API key; the previous one stays valid for a transition period',
      query: WorkspaceQuery,
      body: RotateBody,
      response: RotateReply,
      handle: (request) => rotate(deps, request, subTypes),
    }),
  ];
}

/**
 * The path contains type and sub-type; on v2 it may contain the sub-type only, with the type in the body.
 */
function createRoutes(deps: AdminDeps): Route<Principal>[] {
  const summary = 'Create an API key';
  return [
    route({
      ...forOwners,
      method: 'POST',
      returnsCredentialOf: 'ApiKey',
      path: '/api-keys/:type/:subType',
      mounts: everyMount,
      scope: ({ type, subType }) =>
        apiKeyScope(type as ApiKeyType, subType as ApiKeySubType, 'create'),
      summary,
      params: z.object({ type: ApiKeyType, subType: ApiKeySubType }),
      body: CreateBody,
      ignoredFields,
      response: CreateReply,
      handle: (request) => createApiKey(deps, request, request.params.type, request.params.subType),
    }),
    ...ApiKeySubType.options.map((subType) =>
      route({
        ...forOwners,
        method: 'POST',
        returnsCredentialOf: 'ApiKey',
        path: `/api-keys/${subType}`,
        mounts: { v2: everyMount.v2 },
        scope: anyScope('create', [subType]),
        summary,
        body: CreateBody.extend({ type: ApiKeyType.optional() }),
        ignoredFields,
        response: CreateReply,
        handle: (request: BodyRequest<TypedCreateBody>) =>
          createApiKey(deps, request, typeOf(request), subType),
      }),
    ),
  ];
}

type TypedCreateBody = z.infer<typeof CreateBody> & { type?: ApiKeyType | undefined };

/** v2 clients may omit the type; it follows from the workspace that they name or are bound to. */
function typeOf({
  body,
  caller,
}: Pick<AdminRequest<unknown, unknown, TypedCreateBody>, 'body' | 'caller'>): ApiKeyType {
  const workspace = body.workspace_id ?? caller.workspaceId;
  return body.type ?? (workspace === null ? 'organisation' : 'workspace');
}

/** v2 also has one list per sub-type. */
function listRoutes(deps: AdminDeps): Route<Principal>[] {
  const common = {
    method: 'GET',
    summary: 'List API keys',
    query: ListQuery,
    response: listSchema(ApiKeyRecord),
  } as const;
  return [
    route({
      ...common,
      path: '/api-keys',
      mounts: everyMount,
      scope: keyListScopes,
      handle: (request: ListRequest) => list(deps, request, ApiKeySubType.options),
    }),
    ...ApiKeySubType.options.map((subType) =>
      route({
        ...common,
        path: `/api-keys/${subType}`,
        mounts: { v2: everyMount.v2 },
        scope: anyScope('list', [subType]),
        handle: (request: ListRequest) => list(deps, request, [subType]),
      }),
    ),
  ];
}

type ListRequest = QueryRequest<z.infer<typeof ListQuery>>;

/** The required scope depends on the key; the handlers check the exact one. */
function anyScope(action: KeyAction, subTypes: readonly ApiKeySubType[]): string[] {
  return ApiKeyType.options.flatMap((type) =>
    subTypes.map((subType) => apiKeyScope(type, subType, action)),
  );
}

/** Lists keys of the types that the caller may list; values are masked. */
async function list(
  deps: AdminDeps,
  { caller, query, now }: ListRequest,
  subTypes: readonly ApiKeySubType[],
) {
  const db = deps.database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const { organisationId } = caller;
  const isOwnOnly = caller.person?.actsForOthers === false;
  const ownId = isOwnOnly ? caller.person!.userId : query.user_id;
  const isForeign = query.user_id !== undefined && query.user_id !== ownId;
  const filter = {
    workspaceId: workspace?.id,
    ids: parseIds(query.ids),
    types: isForeign ? [] : listableKeyTypes(caller, query, subTypes),
    userId: ownId,
    name: query.name,
    state: query.status && {
      status: query.status,
      now,
      exhaustedIds: await usageBudgets.listExhaustedIds(db, organisationId, 'api_key', now),
    },
  };
  const page = await apiKeys.list(db, caller.organisationId, filter, toPage(query));
  const { rows, ids, total } = page;
  const budgets = await usageBudgets.listStates(db, caller.organisationId, 'api_key', ids, now);
  return listReply(
    mapItems(rows, (row) => apiKeyToRecord(row, budgets.get(row.id), now)),
    total,
  );
}

/** Scopes of which one is needed to list keys. */
export const keyListScopes: readonly string[] = anyScope('list', ApiKeySubType.options);

/** Types that the caller asks for and may list. */
export function listableKeyTypes(
  { scopes }: Principal,
  query: Pick<z.infer<typeof ListQuery>, 'type' | 'sub_type'>,
  subTypes: readonly ApiKeySubType[],
): z.infer<typeof ApiKeyRecord>['type'][] {
  return ApiKeyType.options
    .filter((type) => query.type === undefined || query.type === type)
    .flatMap((type) =>
      subTypes
        .filter((subType) => query.sub_type === undefined || query.sub_type === subType)
        .filter((subType) => grantsScope(scopes, apiKeyScope(type, subType, 'list')))
        .map((subType) => `${type}-${subType}` as const),
    );
}

function parseIds(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const ids = commaList(text.toLowerCase());
  if (ids.length > idsMax || !ids.every(isUuid)) {
    const message = `must be at most ${idsMax} comma-separated ids`;
    throw validationError({ path: ['ids'], message });
  }
  return ids;
}

async function get(deps: AdminDeps, request: ItemRequest, subTypes: readonly ApiKeySubType[]) {
  const { caller, now } = request;
  const db = deps.database.readable;
  const id = idOr404(request.params.id!);
  const stored = await apiKeys.findById(db, caller.organisationId, id);
  const row = findOr404(caller, ofSubType(subTypes, stored));
  await requireWorkspace(db, caller, row, request.query.workspace_id);
  requireKeyScope(caller, row, 'read');
  const subject = { organisationId: caller.organisationId, kind: 'api_key', id } as const;
  const record = apiKeyToRecord(row, await usageBudgets.findState(db, subject, now), now);
  return withVersionTag(record, row);
}
