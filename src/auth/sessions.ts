/** Authenticates signed-in users by their session cookie and determines what they may do. */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { detach } from '../detached.ts';
import { hasAccessEverywhere } from '../model/people/person.ts';
import { allScopes, scopesOfMember } from '../model/people/scopes.ts';
import { ApiError } from '../model/wire/errors.ts';
import { isUuid } from '../model/wire/slug-forms.ts';
import type { UserSessionSettings } from '../settings/groups/sessions.ts';
import type { Database, Db } from '../store/connection/db.ts';
import * as userSessions from '../store/people/user-sessions.ts';
import * as workspaceMembers from '../store/people/workspace-members.ts';
import * as organisations from '../store/resources/organisations.ts';
import * as workspaces from '../store/resources/workspaces.ts';
import { isOfThisMachine } from '../trusted-hosts.ts';
import { readCookie } from './cookies.ts';
import type { FreshCache } from './fresh-cache.ts';
import type { DeploymentKeys } from './keyring.ts';
import type { Principal } from './principal.ts';
import { CredentialRefused } from './refused-credentials.ts';

/** Headers of a browser request with cookies. */
export interface SessionCookies {
  /** The whole header. */
  readonly cookies: string;
  /** The `origin` header, or null. */
  readonly origin: string | null;
  /** The `host` header, or null. */
  readonly host: string | null;
  /** Whether the method is neither GET nor HEAD. */
  readonly isChange: boolean;
  /** The `gatewright-workspace` header: id or slug, or null. */
  readonly workspace: string | null;
}

export interface SessionDeps {
  readonly database: Pick<Database, 'readable' | 'db'>;
  readonly keyring: Pick<DeploymentKeys, 'hashCredential'>;
  readonly organisations: FreshCache<organisations.StoredOrganisation>;
  /** Ids of keys and sessions whose last use is being written. */
  readonly uses: Set<string>;
  /** Null when nothing opens a session: neither an identity provider nor the console. */
  readonly sessions: Pick<UserSessionSettings, 'publicUrl' | 'idleMs'> | null;
}

const cookieName = '__Host-gatewright-session';
const secretBytes = 32;

/** The last use is written at most this often. */
const useWrittenEveryMs = 60_000;

/** Creates a secret and the cookie that carries it. */
export function makeSession(
  keyring: Pick<DeploymentKeys, 'hashCredential'>,
  { organisationId, id }: { readonly organisationId: string; readonly id: string },
  lifetimeMs: number,
): { readonly tokenHmac: Buffer; readonly cookie: string } {
  const secret = randomBytes(secretBytes).toString('base64url');
  const value = `${organisationId}.${id}.${secret}`;
  const seconds = Math.floor(lifetimeMs / 1000);
  return {
    tokenHmac: keyring.hashCredential(secret),
    cookie: `${cookieName}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`,
  };
}

/** Removes the cookie from the browser. */
export const clearedSessionCookie = `${cookieName}=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax`;

/**
 * Reads the user and their roles on each request, so that a deactivated user or a lost role takes effect
 * at once.
 *
 * @throws ApiError `unauthorized` (CredentialRefused when a session cookie was sent); `forbidden` for a
 *   change that another site may have caused, or for a workspace of which the user is no member
 */
export async function bySession(
  deps: SessionDeps,
  offered: SessionCookies,
  now: number,
): Promise<Principal> {
  const { sessions, database } = deps;
  const token = readCookie(offered.cookies, cookieName);
  if (sessions === null || token === null) throw new ApiError('unauthorized');
  const session = await findSession(deps, sessions, token, now);
  if (offered.isChange && !isOwnPage(sessions, offered)) {
    const message = 'A change with a session cookie must come from a page of this server: origin';
    throw new ApiError('forbidden', message, 'origin');
  }
  const { organisation_id: organisationId } = session;
  const organisation = await deps.organisations.get(organisationId, now, () =>
    organisations.findById(database.readable, organisationId),
  );
  if (organisation === undefined) throw new CredentialRefused(unknown);
  recordUse(deps, session, now);
  const { scopes, workspaceId, actsForOthers } = await sessionRightsOf(
    database.readable,
    session,
    offered.workspace,
  );
  return {
    kind: 'user',
    id: session.user_id,
    name: session.email,
    organisationId,
    workspaceId,
    tsgId: organisation.tsg_id,
    scopes,
    person: { userId: session.user_id, sessionId: session.id, actsForOthers },
  };
}

/**
 * Whether a request comes from a page of this server. Without a public address it must come from a page of
 * the loopback address by which the browser reached the server; names that others control are refused,
 * because they could resolve to this machine.
 */
export function isOwnPage(
  { publicUrl }: Pick<UserSessionSettings, 'publicUrl'>,
  { origin, host }: Pick<SessionCookies, 'origin' | 'host'>,
): boolean {
  if (publicUrl !== null) return origin === publicUrl.origin;
  return origin !== null && origin === `http://${host}` && isLoopbackOrigin(origin);
}

/** Whether a text is the plain HTTP origin of this machine: `http://127.0.0.1:8080`. */
export function isLoopbackOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && url.origin === text && isOfThisMachine(url);
}

const unknown = { credential: 'session', reason: 'unknown' } as const;

/** @throws CredentialRefused unless the session is valid and its user active */
async function findSession(
  { database, keyring }: SessionDeps,
  { idleMs }: Pick<UserSessionSettings, 'idleMs'>,
  token: string,
  now: number,
): Promise<userSessions.SessionWithUser> {
  const [organisationId = '', id = '', secret = ''] = token.split('.');
  if (!isUuid(organisationId) || !isUuid(id) || secret === '') throw new CredentialRefused(unknown);
  const row = await userSessions.findWithUser(database.readable, organisationId, id);
  if (row === undefined) throw new CredentialRefused(unknown);
  const whose = { organisationId: row.organisation_id, subjectId: row.user_id };
  if (!timingSafeEqual(keyring.hashCredential(secret), row.token_hmac)) {
    throw new CredentialRefused({ ...unknown, ...whose });
  }
  const isOver = row.expires_at <= now || row.last_used_at + idleMs <= now;
  if (!isOver && row.status === 'active') return row;
  const reason = isOver ? 'expired' : 'inactive';
  throw new CredentialRefused({ ...unknown, ...whose, reason });
}

/** Runs in the background and never fails the request. */
function recordUse(
  { database, uses }: SessionDeps,
  row: userSessions.SessionWithUser,
  now: number,
): void {
  if (row.last_used_at > now - useWrittenEveryMs || uses.has(row.id)) return;
  uses.add(row.id);
  const written = userSessions
    .updateLastUsed(database.db, row, now)
    .catch(() => undefined)
    .finally(() => uses.delete(row.id));
  detach('recording the use of a session', written);
}

type SessionRights = Pick<Principal, 'scopes' | 'workspaceId'> & {
  readonly actsForOthers: boolean;
};

/**
 * Administrators act on the organisation, or on the workspace they name. Other users act in the workspace
 * they name, or in their only one. With several workspaces and none named, the scopes are empty.
 */
async function sessionRightsOf(
  db: Db,
  user: userSessions.SessionWithUser,
  named: string | null,
): Promise<SessionRights> {
  const { organisation_id: organisationId, user_id: userId } = user;
  const workspace =
    named === null ? undefined : await workspaces.findByIdOrSlug(db, organisationId, named);
  if (hasAccessEverywhere(user)) {
    if (named !== null && workspace === undefined) refuseWorkspace();
    return { scopes: allScopes, workspaceId: workspace?.id ?? null, actsForOthers: true };
  }
  const roles = await workspaceMembers.listRoles(db, organisationId, userId);
  const workspaceId = named === null && roles.size === 1 ? [...roles.keys()][0] : workspace?.id;
  const role = workspaceId === undefined ? undefined : roles.get(workspaceId);
  if (role !== undefined) {
    const actsForOthers = role !== 'member';
    return { scopes: scopesOfMember(role), workspaceId: workspaceId!, actsForOthers };
  }
  if (named !== null) refuseWorkspace();
  return { scopes: [], workspaceId: null, actsForOthers: false };
}

/** The same error for a workspace that does not exist, so that nobody learns which exist. */
function refuseWorkspace(): never {
  throw new ApiError('forbidden', 'You are not a member of this workspace', 'gatewright-workspace');
}
