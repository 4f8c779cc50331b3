/**
 * HTTP routes for users' sessions (docs/reference/access.md, Sign-in): one's own, and those of others for
 * administrators.
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { clearedSessionCookie } from '../../auth/sessions.ts';
import { RawReply, type Route, route } from '../../http/routes/route.ts';
import { OrganisationRole, WorkspaceRole } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { listReply, listSchema } from '../../model/wire/paging.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { Db } from '../../store/connection/db.ts';
import * as signInLinks from '../../store/people/sign-in-links.ts';
import * as userIdentities from '../../store/people/user-identities.ts';
import * as userSessions from '../../store/people/user-sessions.ts';
import * as users from '../../store/people/users.ts';
import * as workspaceMembers from '../../store/people/workspace-members.ts';
import * as workspaces from '../../store/resources/workspaces.ts';
import { requireAuthorityOver, requireOwnerForOwner } from '../access/people-authority.ts';
import { type Author, auditChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';

const SessionRecord = z.object({
  id: z.uuid(),
  created_at: ResponseTimestamp,
  /** Accurate to the minute. */
  last_used_at: ResponseTimestamp,
  expires_at: ResponseTimestamp,
  object: z.literal('session'),
});

const OwnSession = SessionRecord.extend({
  user: z.object({ id: z.uuid(), email: z.string(), role: OrganisationRole }),
  organisation_id: z.uuid(),
  tsg_id: z.string(),
  /** Workspace of the session; null for an administrator's, or when none is chosen. */
  workspace_id: z.uuid().nullable(),
  scopes: z.array(z.string()),
  /** Workspaces of which the user is a member. */
  workspaces: z.array(
    z.object({ id: z.uuid(), slug: z.string(), name: z.string(), role: WorkspaceRole }),
  ),
  addresses: z
    .object({
      inference: z.string().nullable().describe('Of inference, without `/v1`.'),
      mcp: z.string().nullable().describe('Of MCP servers, without the path of one.'),
      docs: z
        .string()
        .nullable()
        .describe('Path of the documentation on this server, with a slash at its end.'),
    })
    .describe('Addresses as the settings say; null where they are unknown.'),
});
const Ended = z.object({
  /** Logout address of the identity provider, or null. */
  end_session_url: z.string().nullable(),
});

export function sessionRoutes(deps: AdminDeps): Route<Principal>[] {
  const own = { mounts: { v1: ['session'] }, path: '/session' } as const;
  const all = { mounts: everyMount, path: '/admin/users/:id/sessions' } as const;
  const empty = z.object({});
  return [
    route({
      ...own,
      method: 'GET',
      summary: 'Get the signed-in user',
      response: OwnSession,
      handle: (request) => getOwn(deps, request),
    }),
    route({
      ...own,
      method: 'DELETE',
      summary: 'Sign out',
      response: Ended,
      handle: (request) => endOwn(deps, request),
    }),
    route({
      ...all,
      method: 'GET',
      scope: 'organisation_users.read',
      summary: 'List the sessions of a user',
      response: listSchema(SessionRecord),
      handle: async ({ caller, params }) => {
        const db = deps.database.readable;
        const { id } = await requireUser(db, caller, params.id!);
        const rows = await userSessions.listOfUser(db, caller.organisationId, id);
        return listReply(rows.values().map(present), rows.length);
      },
    }),
    route({
      ...all,
      method: 'DELETE',
      scope: 'organisation_users.update',
      summary: 'End all sessions of a user',
      response: empty,
      handle: (request) => endMany(deps, request, {}),
    }),
    route({
      ...all,
      method: 'DELETE',
      path: `${all.path}/:sessionId`,
      scope: 'organisation_users.update',
      summary: 'End a session of a user',
      response: empty,
      handle: (request) => endMany(deps, request, { id: idOr404(request.params.sessionId!) }),
    }),
    route({
      ...all,
      method: 'DELETE',
      path: '/admin/users/:id/identity',
      scope: 'organisation_users.update',
      summary: "Unbind a user's account of the identity provider, so that another one can be used",
      response: empty,
      handle: (request) => unbind(deps, request),
    }),
  ];
}

async function getOwn(deps: AdminDeps, { caller }: AdminRequest) {
  const { database, inferenceUrl, mcpUrl, docsPath } = deps;
  const db = database.readable;
  const { organisationId, tsgId, person, scopes, workspaceId } = caller;
  const session = await userSessions.findWithUser(db, organisationId, person!.sessionId!);
  if (session === undefined) throw new ApiError('unauthorized');
  const roles = await workspaceMembers.listRoles(db, organisationId, caller.id);
  const rows = await workspaces.listByIds(db, organisationId, [...roles.keys()]);
  return {
    ...present(session),
    user: { id: caller.id, email: session.email, role: session.role },
    organisation_id: organisationId,
    tsg_id: tsgId,
    workspace_id: workspaceId,
    scopes: [...scopes],
    workspaces: rows.map(({ id, slug, name }) => ({ id, slug, name, role: roles.get(id)! })),
    addresses: { inference: inferenceUrl, mcp: mcpUrl, docs: docsPath },
  };
}

async function endOwn(deps: AdminDeps, request: AdminRequest) {
  const { caller } = request;
  const id = caller.person!.sessionId!;
  await deps.database.transaction(async (tx) => {
    await userSessions.deleteMany(tx, caller.organisationId, { id });
    await auditEnd(tx, deps, request, id);
  });
  const answer: z.infer<typeof Ended> = {
    end_session_url: (await deps.signIn?.provider.endAddress()) ?? null,
  };
  return new RawReply(200, JSON.stringify(answer), { 'set-cookie': clearedSessionCookie });
}

/** Returns `{}`. @throws ApiError `notFound` for an unknown user or session */
async function endMany(deps: AdminDeps, request: AdminRequest, which: { readonly id?: string }) {
  const { caller, params } = request;
  await deps.database.transaction(async (tx) => {
    const user = await requireUser(tx, caller, params.id!);
    const { organisationId } = caller;
    const ended = await userSessions.deleteMany(tx, organisationId, { userId: user.id, ...which });
    if (which.id === undefined) await signInLinks.deleteByUser(tx, organisationId, user.id);
    if (which.id !== undefined && ended === 0) throw new ApiError('notFound');
    if (ended > 0) await auditEnd(tx, deps, request, which.id ?? user.id);
  });
  return {};
}

/** Returns `{}`. Ends the sessions that were opened with the account. */
async function unbind(deps: AdminDeps, request: AdminRequest) {
  const { caller, params } = request;
  await deps.database.transaction(async (tx) => {
    const user = await requireUser(tx, caller, params.id!);
    requireOwnerForOwner(caller, user);
    await requireAuthorityOver(tx, caller, user);
    const { organisationId } = caller;
    const userId = user.id;
    if (!(await userIdentities.deleteOfUser(tx, organisationId, userId))) return;
    await userSessions.deleteMany(tx, organisationId, { userId });
    await signInLinks.deleteByUser(tx, organisationId, userId);
    await auditChange(tx, deps, request, {
      action: 'update',
      kind: 'User',
      resourceId: userId,
      workspaceId: null,
      changes: { identity: null },
    });
  });
  return {};
}

async function requireUser(db: Db, caller: Principal, id: string): Promise<users.StoredUser> {
  requireWholeOrganisation(caller);
  const user = await users.findById(db, caller.organisationId, idOr404(id));
  if (user === undefined) throw new ApiError('notFound');
  return user;
}

async function auditEnd(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  resourceId: string,
): Promise<void> {
  const entry = { kind: 'UserSession', resourceId, workspaceId: null } as const;
  await auditChange(tx, deps, author, { action: 'delete', ...entry, changes: {} });
}

function present(row: userSessions.StoredSession): z.infer<typeof SessionRecord> {
  return {
    id: row.id,
    created_at: formatTimestamp(row.created_at),
    last_used_at: formatTimestamp(row.last_used_at),
    expires_at: formatTimestamp(row.expires_at),
    object: 'session',
  };
}
