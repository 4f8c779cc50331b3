/** Knows people who are signed in: the cookie that a browser sends, who that is now, and what they may do. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../model/errors.ts';
import { actsEverywhere } from '../model/person.ts';
import { allScopes, scopesOfMember } from '../model/scopes.ts';
import { isUuid } from '../model/slug.ts';
import type { SignInSettings } from '../settings/sign-in.ts';
import type { Database, Db } from '../store/connection/db.ts';
import * as organisations from '../store/tables/organisations.ts';
import * as userSessions from '../store/tables/user-sessions.ts';
import * as workspaceMembers from '../store/tables/workspace-members.ts';
import * as workspaces from '../store/tables/workspaces.ts';
import { readCookie } from './cookies.ts';
import type { FreshCache } from './fresh-cache.ts';
import type { DeploymentKeys } from './keyring.ts';
import type { Principal } from './principal.ts';
import { CredentialRefused } from './refused-credentials.ts';

/** What a browser sent beside its cookies. */
export interface OfferedCookies {
  /** The whole header. */
  readonly cookies: string;
  /** The `origin` header, or null. */
  readonly origin: string | null;
  /** Whether it is more than a question. */
  readonly isChange: boolean;
  /** The `gatewright-workspace` header: id or slug, or null. */
  readonly workspace: string | null;
}

export interface SessionDeps {
  readonly database: Pick<Database, 'readable' | 'db'>;
  readonly keyring: Pick<DeploymentKeys, 'hashCredential'>;
  readonly organisations: FreshCache<organisations.StoredRow>;
  /** Ids of keys and sessions whose use is being written down. */
  readonly uses: Set<string>;
  /** Null where nobody signs in. */
  readonly signIn: Pick<SignInSettings, 'publicUrl' | 'idleMs'> | null;
}

const cookieName = '__Host-gatewright-session';
const secretBytes = 32;

/** Less often than this a use is not written down. */
const usesTellMs = 60_000;

/** A new secret, and the cookie that carries it. */
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

/** Makes a browser forget. */
export const endedCookie = `${cookieName}=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax`;

/**
 * The user as of now: a session dies at once with its user's standing, and what it may do follows the
 * roles of this moment.
 *
 * @throws ApiError `unauthorized`, a CredentialRefused where a session was shown; `forbidden` for a change that another site may have caused, or a
 *   workspace that the user is not in.
 */
export async function bySession(
  deps: SessionDeps,
  offered: OfferedCookies,
  now: number,
): Promise<Principal> {
  const { signIn, database } = deps;
  const shown = readCookie(offered.cookies, cookieName);
  if (signIn === null || shown === null) throw new ApiError('unauthorized');
  const session = await findSession(deps, signIn, shown, now);
  if (offered.isChange && offered.origin !== signIn.publicUrl.origin) {
    const message = 'A change by cookie must come from the page of this server: origin';
    throw new ApiError('forbidden', message, 'origin');
  }
  const { organisation_id: organisationId } = session;
  const organisation = await deps.organisations.get(organisationId, now, () =>
    organisations.findById(database.readable, organisationId),
  );
  if (organisation === undefined) throw new CredentialRefused(unknown);
  recordUse(deps, session, now);
  const { scopes, workspaceId, actsForOthers } = await standingOf(
    database.readable,
    session,
    offered.workspace,
  );
  return {
    ...{ kind: 'user', id: session.user_id, name: session.email, organisationId, workspaceId },
    ...{ tsgId: organisation.tsg_id, scopes },
    person: { userId: session.user_id, sessionId: session.id, actsForOthers },
  };
}

const unknown = { credential: 'session', reason: 'unknown' } as const;

/** @throws CredentialRefused unless it is good, and its user is */
async function findSession(
  { database, keyring }: SessionDeps,
  { idleMs }: Pick<SignInSettings, 'idleMs'>,
  shown: string,
  now: number,
): Promise<userSessions.SessionWithUser> {
  const [organisationId = '', id = '', secret = ''] = shown.split('.');
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

/** Not waited for, and no reason to refuse. */
function recordUse(
  { database, uses }: SessionDeps,
  row: userSessions.SessionWithUser,
  now: number,
): void {
  if (row.last_used_at > now - usesTellMs || uses.has(row.id)) return;
  uses.add(row.id);
  void userSessions
    .updateLastUsed(database.db, row, now)
    .catch(() => undefined)
    .finally(() => uses.delete(row.id));
}

type Standing = Pick<Principal, 'scopes' | 'workspaceId'> & { readonly actsForOthers: boolean };

/**
 * Administrators act on the organisation, or on the workspace they name; anybody else in the workspace
 * they name, or in the only one they are in. Who is in several and names none may do nothing but ask which.
 */
async function standingOf(
  db: Db,
  user: userSessions.SessionWithUser,
  named: string | null,
): Promise<Standing> {
  const { organisation_id: organisationId, user_id: userId } = user;
  const workspace =
    named === null ? undefined : await workspaces.findByIdOrSlug(db, organisationId, named);
  if (actsEverywhere(user)) {
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

/** Alike for one that is not there, so that nobody learns which are. */
function refuseWorkspace(): never {
  throw new ApiError('forbidden', 'You are in no such workspace', 'gatewright-workspace');
}
