/** Authenticates the requests of the Admin API by API key, access token, client secret or session. */

import { timingSafeEqual } from 'node:crypto';
import { detach } from '../detached.ts';
import { isWellFormedApiKey } from '../model/people/credentials.ts';
import { grantsScope, scopesOfRoles } from '../model/people/scopes.ts';
import { ApiError } from '../model/wire/errors.ts';
import { validationError } from '../model/wire/validation-error.ts';
import type { Db } from '../store/connection/db.ts';
import * as serviceAccounts from '../store/people/service-accounts.ts';
import * as apiKeys from '../store/resources/api-keys.ts';
import * as organisations from '../store/resources/organisations.ts';
import * as usageBudgets from '../store/usage/usage-budgets.ts';
import type { AccessTokens, TokenGrant } from './access-token.ts';
import type { FailureThrottle } from './failure-throttle.ts';
import { createFreshCache, type FreshCache } from './fresh-cache.ts';
import { findRoleGrants, rolesByWorkspace } from './grants.ts';
import type { Person, Principal } from './principal.ts';
import {
  CredentialRefused,
  type RefusedCredential,
  type RefusedCredentials,
} from './refused-credentials.ts';
import { bySession, type SessionCookies, type SessionDeps } from './sessions.ts';

/** Credentials of a request as the HTTP layer extracts them. */
export interface AdminCredentials {
  readonly authorization: string | null;
  readonly gatewayKey: string | null;
  /** Null without cookies. Any other credential takes precedence, because browsers send cookies unasked. */
  readonly browser: SessionCookies | null;
  readonly remoteAddress: string;
}

export type AcceptedCredential =
  | 'access-token'
  | 'api-key'
  | 'bearer-key'
  | 'session'
  | 'client'
  | 'none';

export interface AuthDeps extends SessionDeps {
  readonly tokens: AccessTokens;
  readonly throttle: FailureThrottle;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly standings: FreshCache<ServiceAccountGrants>;
}

/** Identity of a service account in one tenant and the roles it holds there now. */
interface ServiceAccountGrants {
  readonly caller: Omit<Principal, 'scopes'>;
  readonly roles: readonly string[];
}

/** Longest time for which a revoked role or a deleted account is still accepted. */
const freshForMs = 2_000;
const entriesMax = 10_000;

/** Caches of authentication; create them once per process. */
export function createAuthCaches(): Pick<AuthDeps, 'standings' | 'organisations' | 'uses'> {
  const bounds = { freshForMs, entriesMax };
  const standings = createFreshCache<ServiceAccountGrants>(bounds);
  return { standings, organisations: createFreshCache(bounds), uses: new Set() };
}

const secretHmacBytes = 32;

/** Counts refused credentials. A request without a credential is not counted. */
export async function authenticateAdmin(
  deps: AuthDeps,
  offered: AdminCredentials,
  accepts: readonly AcceptedCredential[],
  now: number,
): Promise<Principal> {
  try {
    return await callerOf(deps, offered, accepts, now);
  } catch (error) {
    if (error instanceof CredentialRefused) {
      const { remoteAddress } = offered;
      deps.refusals.record(error.refused, { server: 'admin', remoteAddress });
    }
    throw error;
  }
}

/**
 * Every refusal of a single credential is the same 401, whatever the reason. Two credentials at once are
 * 400, because it is unclear which one applies.
 */
async function callerOf(
  deps: AuthDeps,
  offered: AdminCredentials,
  accepts: readonly AcceptedCredential[],
  now: number,
): Promise<Principal> {
  const { authorization, gatewayKey } = offered;
  if (authorization !== null && gatewayKey !== null) {
    const message = 'send either an API key or a token, not both';
    throw validationError({ path: ['authorization'], message });
  }
  if (gatewayKey !== null) {
    // Some clients send every credential in the header of keys. A key has no dots, a token has two.
    const isToken = accepts.includes('access-token') && gatewayKey.split('.').length === 3;
    if (isToken) return byToken(deps, gatewayKey, now);
    if (accepts.includes('api-key')) return byApiKey(deps, gatewayKey, now);
  }
  const [scheme, value] = splitAuthorization(authorization);
  if (scheme === 'bearer' && accepts.includes('bearer-key') && isWellFormedApiKey(value)) {
    return byApiKey(deps, value, now);
  }
  if (scheme === 'bearer' && accepts.includes('access-token')) return byToken(deps, value, now);
  if (scheme === 'basic' && accepts.includes('client')) {
    return byClientSecret(deps, value, offered.remoteAddress, now);
  }
  const { browser } = offered;
  const isAlone = authorization === null && gatewayKey === null;
  if (isAlone && browser !== null && accepts.includes('session')) {
    return bySession(deps, browser, now);
  }
  if (isAlone) throw new ApiError('unauthorized');
  throw new CredentialRefused({ credential: 'other', reason: 'not_accepted' });
}

/** @throws ApiError `forbidden` unless the caller holds the scope */
export function authorise(caller: Principal, scope: string): void {
  if (grantsScope(caller.scopes, scope)) return;
  throw new ApiError('forbidden', `User not allowed to access the resource: ${scope} is missing`);
}

/** Splits into the scheme, in lower case, and the value; exactly one space separates them. */
function splitAuthorization(header: string | null): [scheme: string, value: string] {
  const match = /^([A-Za-z]+) ([\w.~+/-]+=*)$/.exec(header ?? '');
  return match === null ? ['', ''] : [match[1]!.toLowerCase(), match[2]!];
}

async function byToken(deps: AuthDeps, token: string, now: number): Promise<Principal> {
  const grant = await deps.tokens.verify(token, now);
  const key = [grant.serviceAccountId, grant.tsgId, grant.workspaceId].join();
  const standing = await deps.standings.get(key, now, () => findStanding(deps, grant));
  const roles = grant.roles.filter((role) => standing?.roles.includes(role));
  // A token loses its power with the grants it was issued for and gains nothing from new ones.
  if (standing === undefined || roles.length === 0) {
    const organisationId = standing?.caller.organisationId ?? null;
    const whose = { organisationId, subjectId: grant.serviceAccountId };
    throw new CredentialRefused({ credential: 'access_token', reason: 'inactive', ...whose });
  }
  return { ...standing.caller, scopes: scopesOfRoles(roles) };
}

/** Reads the current state behind a token's claims; undefined when account or organisation is gone. */
async function findStanding(
  deps: AuthDeps,
  grant: TokenGrant,
): Promise<ServiceAccountGrants | undefined> {
  const db = deps.database.readable;
  const { serviceAccountId, tsgId, workspaceId } = grant;
  const [account, organisation] = await Promise.all([
    serviceAccounts.findById(db, serviceAccountId),
    organisations.findByTsgId(db, tsgId),
  ]);
  if (account === undefined || organisation === undefined) return undefined;
  if (account.disabled_at !== null) return undefined;
  const grants = await findRoleGrants(db, { name: account.name, tsgId: account.tsg_id }, tsgId);
  const roles =
    workspaceId === null
      ? grants.roles
      : ((await rolesByWorkspace(db, organisation.id, grants)).get(workspaceId) ?? []);
  return {
    roles,
    caller: {
      kind: 'service-account',
      person: null,
      id: account.id,
      name: account.name,
      organisationId: organisation.id,
      tsgId: organisation.tsg_id,
      workspaceId,
    },
  };
}

/**
 * Evaluated on use, so that a raised limit or a new window makes the key valid again. A refused large request does not
 * lock the key out of the Admin API.
 */
async function isUsedUp(db: Db, row: apiKeys.StoredApiKey, now: number): Promise<boolean> {
  const key = { organisationId: row.organisation_id, kind: 'api_key', id: row.id } as const;
  return (await usageBudgets.findState(db, key, now))?.isUsedUp ?? false;
}

async function byApiKey(deps: AuthDeps, key: string, now: number): Promise<Principal> {
  if (!isWellFormedApiKey(key)) throw refusedKey('unknown');
  const db = deps.database.readable;
  const row = await apiKeys.findByHash(db, deps.keyring.hashCredential(key), now);
  if (row === undefined) throw refusedKey('unknown');
  const isExpired = row.expires_at !== null && row.expires_at <= now;
  if (isExpired || row.status !== 'active') throw refusedKey('expired', row);
  if (row.usage_limits !== null && (await isUsedUp(db, row, now)))
    throw refusedKey('exhausted', row, 'exhausted');
  const organisation = await deps.organisations.get(row.organisation_id, now, () =>
    organisations.findById(db, row.organisation_id),
  );
  if (organisation === undefined) throw refusedKey('unknown');
  recordUse(deps, row, now);
  return {
    kind: 'api-key',
    person: personOf(row),
    id: row.id,
    name: row.name,
    organisationId: row.organisation_id,
    tsgId: organisation.tsg_id,
    workspaceId: row.workspace_id,
    scopes: scopesOf(row),
  };
}

function refusedKey(
  reason: RefusedCredential['reason'],
  row?: apiKeys.StoredApiKey,
  kind: 'unauthorized' | 'exhausted' = 'unauthorized',
): CredentialRefused {
  const whose = row && { organisationId: row.organisation_id, subjectId: row.id };
  return new CredentialRefused({ credential: 'api_key', reason, ...whose }, kind);
}

function personOf(row: apiKeys.StoredApiKey): Person | null {
  const userId = apiKeys.personOf(row);
  // The scopes of a key decide what it may do to keys of others.
  return userId === null ? null : { userId, sessionId: null, actsForOthers: true };
}

/** Runs in the background and never fails the request: reads work while nothing can be written. */
function recordUse({ database, uses }: AuthDeps, row: apiKeys.StoredApiKey, now: number): void {
  if (!apiKeys.isUseNews(row, now) || uses.has(row.id)) return;
  uses.add(row.id);
  const written = apiKeys
    .updateLastUsed(database.db, row, now)
    .catch(() => undefined)
    .finally(() => uses.delete(row.id));
  detach('recording the use of a key', written);
}

const parsedScopesMax = 1_000;
const parsedScopes = new Map<
  string,
  { readonly text: string; readonly scopes: readonly string[] }
>();

/** Caches the parsed scopes of a key while their text is unchanged. */
function scopesOf({ id, scopes: text }: apiKeys.StoredApiKey): readonly string[] {
  const cached = parsedScopes.get(id);
  if (cached?.text === text) return cached.scopes;
  const scopes = JSON.parse(text) as string[];
  if (parsedScopes.size === parsedScopesMax) parsedScopes.clear();
  parsedScopes.set(id, { text, scopes });
  return scopes;
}

/**
 * Authenticates a service account by its own secret, in its home tenant and without scopes: it may only
 * request a token. An unknown client costs the same work, so that neither the response nor its timing
 * reveals which clients exist.
 */
async function byClientSecret(
  deps: AuthDeps,
  encoded: string,
  remoteAddress: string,
  now: number,
): Promise<Principal> {
  const db = deps.database.readable;
  const clients = clientCandidates(decodeBasic(encoded));
  const finding = clients.map((client) => findClient(deps, db, client, now));
  const candidates = await Promise.all(finding);
  const account = candidates.find(({ isProved: isVerified }) => isVerified)?.account;
  if (account === undefined) {
    const named = candidates.find((one) => one.account !== undefined)?.account;
    const wrong = { ...wrongSecret, tsgId: named?.tsg_id ?? null, subjectId: named?.id ?? null };
    const { clientId } = clients[0]!;
    // Only wrong secrets are counted and slowed, so nobody can lock out somebody else.
    const allowed = deps.throttle.recordFailure(
      [remoteAddress, `${remoteAddress} ${clientId}`],
      now,
    );
    throw new CredentialRefused(wrong, allowed ? 'unauthorized' : 'rateLimited');
  }
  const organisation = await organisations.findByTsgId(db, account.tsg_id);
  if (organisation === undefined) throw new CredentialRefused(wrongSecret);
  if (account.disabled_at !== null) {
    const whose = { organisationId: organisation.id, subjectId: account.id };
    throw new CredentialRefused({ credential: 'client_secret', reason: 'inactive', ...whose });
  }
  return {
    kind: 'service-account',
    person: null,
    id: account.id,
    name: account.name,
    organisationId: organisation.id,
    tsgId: account.tsg_id,
    workspaceId: null,
    scopes: [],
  };
}

const wrongSecret = { credential: 'client_secret', reason: 'unknown' } as const;

interface Client {
  readonly clientId: string;
  readonly secret: string;
}

/** Compares with both secrets of the account, or with stand-ins, which cost the same. */
async function findClient(
  { keyring }: Pick<AuthDeps, 'keyring'>,
  db: Db,
  { clientId, secret }: Client,
  now: number,
): Promise<{
  readonly account?: serviceAccounts.StoredServiceAccount;
  readonly isProved: boolean;
}> {
  const account = await serviceAccounts.findByClientId(db, clientId);
  const previous = account && serviceAccounts.previousSecret(account, now);
  const sent = keyring.hashCredential(secret);
  const none = Buffer.alloc(secretHmacBytes);
  const isCurrent = timingSafeEqual(sent, account?.secret_hmac ?? none);
  const isPrevious = timingSafeEqual(sent, previous ?? none);
  const isProved = account !== undefined && (isCurrent || isPrevious);
  return { ...(account && { account }), isProved };
}

/**
 * The credentials as sent and, if different, decoded as RFC 6749 2.3.1 requires. Some clients
 * form-encode both parts before they join them; most do not.
 */
function clientCandidates(sent: Client): Client[] {
  const decoded = { clientId: decodeFormText(sent.clientId), secret: decodeFormText(sent.secret) };
  const isSame = decoded.clientId === sent.clientId && decoded.secret === sent.secret;
  return isSame || !clientIdPattern.test(decoded.clientId) ? [sent] : [sent, decoded];
}

/** Returns the text unchanged when it is not form-encoded. */
function decodeFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Printable ASCII, like the column; anything else cannot be a client id of this deployment. */
const clientIdPattern = /^[\x21-\x7e]{1,255}$/;

/** The client id ends at the first colon; the secret may contain more colons. */
function decodeBasic(encoded: string): Client {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const clientId = text.slice(0, Math.max(colon, 0));
  if (!clientIdPattern.test(clientId)) throw new CredentialRefused(wrongSecret);
  return { clientId, secret: text.slice(colon + 1) };
}
