/** HTTP routes for the users who may use an MCP server. */
import { z } from 'zod';
import { authorise } from '../../auth/authenticate.ts';
import type { Principal } from '../../auth/principal.ts';
import { type Reply, type Route, route } from '../../http/routes/route.ts';
import { DefaultUserAccess, McpUserAccessPut } from '../../model/mcp/mcp-server.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { pageQueryFromOne, toPageFromOne } from '../../model/wire/paging.ts';
import type { Db } from '../../store/connection/db.ts';
import * as serverUsers from '../../store/mcp/mcp-server-users.ts';
import * as users from '../../store/people/users.ts';
import { type AdminDeps, everyMount, forOwners } from '../request/deps.ts';
import {
  type BodyRequest,
  type QueryRequest,
  updateFields,
  WorkspaceQuery,
} from '../request/frame-fields.ts';
import { updateResource } from '../request/resource-change.ts';
import { withVersionTag } from '../request/version.ts';
import { findServer, serverChanging } from './mcp-access.ts';
import { writeUserAccess } from './mcp-user-changes.ts';

const path = '/mcp-servers/:mcpServerId/user-access';
const pageSizeMax = 500;

const PutBody = McpUserAccessPut.extend({ workspace_id: updateFields.workspace_id });
const ListQuery = WorkspaceQuery.extend({
  search: z.string().max(255).optional(),
  ...pageQueryFromOne(pageSizeMax),
});
const CheckQuery = WorkspaceQuery.extend({ user_id: z.uuid().optional() });

const UserAccess = z.object({
  user_id: z.uuid(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  enabled: z.boolean(),
  /** Whether the user has a setting of their own. */
  has_override: z.boolean(),
  connection_status: z.enum(['connected', 'not_connected']),
});
const UserAccessList = z.object({
  object: z.literal('list'),
  data: z.array(UserAccess),
  total: z.int().min(0),
  has_more: z.boolean(),
  default_user_access: DefaultUserAccess,
});
const Check = z.object({
  /** Null for a credential without a user, to which the setting does not apply. */
  user_id: z.uuid().nullable(),
  enabled: z.boolean(),
  has_override: z.boolean(),
  default_user_access: DefaultUserAccess,
});

type PutRequest = BodyRequest<z.infer<typeof PutBody>>;

export function mcpUserAccessRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path,
      scope: 'mcp_servers.read',
      summary: 'List the users of an MCP server and whether they may use it',
      query: ListQuery,
      response: UserAccessList,
      handle: (request) => list(deps, request),
    }),
    route({
      mounts: everyMount,
      ...forOwners,
      method: 'PUT',
      path,
      versioned: true,
      scope: 'mcp_servers.update',
      summary: 'Allow or deny users the use of an MCP server; others stay as they are',
      body: PutBody,
      response: z.object({ success: z.literal(true) }),
      handle: (request) => put(deps, request),
    }),
    route({
      mounts: everyMount,
      method: 'GET',
      path: `${path}/check`,
      scope: ['mcp_servers.read', 'mcp.invoke'],
      summary: 'Check whether a user, or the caller, may use an MCP server',
      query: CheckQuery,
      response: Check,
      handle: (request) => check(deps, request),
    }),
  ];
}

async function list(
  deps: AdminDeps,
  request: QueryRequest<z.infer<typeof ListQuery>>,
): Promise<Reply<z.infer<typeof UserAccessList>>> {
  const { query } = request;
  const db = deps.database.readable;
  const row = await findServer(db, request, query.workspace_id);
  const page = toPageFromOne(query);
  const search = query.search === '' ? undefined : query.search;
  const { rows, total } = await serverUsers.list(db, row, search, page);
  const default_user_access = row.default_user_access ?? 'allow';
  const list: z.infer<typeof UserAccessList> = {
    object: 'list',
    data: rows.map((user) => ({
      user_id: user.id,
      first_name: user.first_name,
      last_name: user.last_name,
      enabled: user.enabled === null ? default_user_access === 'allow' : user.enabled !== 0,
      has_override: user.enabled !== null,
      connection_status: user.connected === 0 ? 'not_connected' : 'connected',
    })),
    total,
    has_more: page.offset + rows.length < total,
    default_user_access,
  };
  return withVersionTag(list, row);
}

async function put(deps: AdminDeps, request: PutRequest) {
  const { body, now } = request;
  await updateResource(deps, request, serverChanging, {
    columns: () => ({ default_user_access: body.default_user_access }),
    writeElsewhere: async (tx, row) => {
      const sent = (body.user_access ?? []).map((one) => ({
        userId: (one.user_id ?? one.id!).toLowerCase(),
        enabled: one.enabled,
      }));
      const writing = { server: row, isWhole: false, now };
      return (await writeUserAccess(tx, writing, sent)) ? ['user_access'] : [];
    },
  });
  return { success: true as const };
}

async function check(
  deps: AdminDeps,
  request: QueryRequest<z.infer<typeof CheckQuery>>,
): Promise<z.infer<typeof Check>> {
  const { caller, query } = request;
  const db = deps.database.readable;
  const row = await findServer(db, request, query.workspace_id);
  const userId = await resolveUser(db, caller, query.user_id);
  const default_user_access = row.default_user_access ?? 'allow';
  if (userId === null) {
    return { user_id: null, enabled: true, has_override: false, default_user_access };
  }
  const override = await serverUsers.find(db, caller.organisationId, row.id, userId);
  return {
    user_id: userId,
    enabled: override === undefined ? default_user_access === 'allow' : override.enabled !== 0,
    has_override: override !== undefined,
    default_user_access,
  };
}

async function resolveUser(
  db: Db,
  caller: Principal,
  reference: string | undefined,
): Promise<string | null> {
  const own = caller.person?.userId ?? null;
  if (reference === undefined || reference.toLowerCase() === own) return own;
  authorise(caller, 'mcp_servers.read');
  const user = await users.findById(db, caller.organisationId, reference.toLowerCase());
  if (user === undefined) throw new ApiError('notFound', undefined, 'user_id');
  return user.id;
}
