/** Knows who a request comes from: which credential it carried, and whether it is good on this route. */
import { timingSafeEqual } from 'node:crypto';
import { isWellFormedApiKey } from '../model/credentials.ts';
import { ApiError } from '../model/errors.ts';
import { covers, scopesOfRoles } from '../model/scopes.ts';
import { validationError } from '../model/validation-error.ts';
import type { Db } from '../store/connection/db.ts';
import * as apiKeys from '../store/tables/api-keys.ts';
import * as organisations from '../store/tables/organisations.ts';
import * as serviceAccounts from '../store/tables/service-accounts.ts';
import * as usageBudgets from '../store/tables/usage-budgets.ts';
import type { AccessTokens, TokenGrant } from './access-token.ts';
import type { FailureThrottle } from './failure-throttle.ts';
import { createFreshCache, type FreshCache } from './fresh-cache.ts';
import { findGrants, rolesByWorkspace } from './grants.ts';
import type { Person, Principal } from './principal.ts';
import {
  CredentialRefused,
  type RefusedCredential,
  type RefusedCredentials,
} from './refused-credentials.ts';
import { bySession, type OfferedCookies, type SessionDeps } from './sessions.ts';

/** What a request carried, as the HTTP layer hands it over. */
export interface OfferedCredentials {
  readonly authorization: string | null;
  readonly gatewayKey: string | null;
  /** Null where there are no cookies. Any other credential comes before them: browsers send them unasked. */
  readonly browser: OfferedCookies | null;
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
  readonly standings: FreshCache<Standing>;
}

/** Who a service account is in one tenant, and the roles that it holds there now. */
interface Standing {
  readonly caller: Omit<Principal, 'scopes'>;
  readonly roles: readonly string[];
}

/** Longest that a role taken away, or an account deleted, may still be honoured. */
const freshForMs = 2_000;
const entriesMax = 10_000;

/** The parts of authentication that remember; one of each a process. */
export function createAuthCaches(): Pick<AuthDeps, 'standings' | 'organisations' | 'uses'> {
  const bounds = { freshForMs, entriesMax };
  const standings = createFreshCache<Standing>(bounds);
  return { standings, organisations: createFreshCache(bounds), uses: new Set() };
}

const secretHmacBytes = 32;

/** Finds the caller. A credential that is refused is counted; who shows none has tried nothing. */
export async function authenticate(
  deps: AuthDeps,
  offered: OfferedCredentials,
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
 * Every refusal of a single credential is the same 401, whatever was wrong with
 * it; two credentials at once are 400, because nobody could say which of them counts.
 */
async function callerOf(
  deps: AuthDeps,
  offered: OfferedCredentials,
  accepts: readonly AcceptedCredential[],
  now: number,
): Promise<Principal> {
  const { authorization, gatewayKey } = offered;
  if (authorization !== null && gatewayKey !== null) {
    const message = 'send either an API key or a token, not both';
    throw validationError({ path: ['authorization'], message });
  }
  if (gatewayKey !== null && accepts.includes('api-key')) return byApiKey(deps, gatewayKey, now);
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

/** Throws 403 unless the caller holds the scope. */
export function authorise(caller: Principal, scope: string): void {
  if (covers(caller.scopes, scope)) return;
  throw new ApiError('forbidden', `User not allowed to access the resource: ${scope} is missing`);
}

/** Scheme in lower case and value; one space between them, nothing else. */
function splitAuthorization(header: string | null): [scheme: string, value: string] {
  const match = /^([A-Za-z]+) ([\w.~+/-]+=*)$/.exec(header ?? '');
  return match === null ? ['', ''] : [match[1]!.toLowerCase(), match[2]!];
}

async function byToken(deps: AuthDeps, token: string, now: number): Promise<Principal> {
  const grant = await deps.tokens.verify(token, now);
  const key = [grant.serviceAccountId, grant.tsgId, grant.workspaceId].join();
  const standing = await deps.standings.get(key, now, () => findStanding(deps, grant));
  const roles = grant.roles.filter((role) => standing?.roles.includes(role));
  // A token dies with the grants that it was made from, and gains nothing by new ones.
  if (standing === undefined || roles.length === 0) {
    const organisationId = standing?.caller.organisationId ?? null;
    const whose = { organisationId, subjectId: grant.serviceAccountId };
    throw new CredentialRefused({ credential: 'access_token', reason: 'inactive', ...whose });
  }
  return { ...standing.caller, scopes: scopesOfRoles(roles) };
}

/** What a token's claims rest on, as the database has it now; undefined where that is nothing any more. */
async function findStanding(deps: AuthDeps, grant: TokenGrant): Promise<Standing | undefined> {
  const db = deps.database.readable;
  const { serviceAccountId, tsgId, workspaceId } = grant;
  const [account, organisation] = await Promise.all([
    serviceAccounts.findById(db, serviceAccountId),
    organisations.findByTsgId(db, tsgId),
  ]);
  if (account === undefined || organisation === undefined) return undefined;
  const grants = await findGrants(db, { name: account.name, tsgId: account.tsg_id }, tsgId);
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

/** Asked at the moment of use: a limit raised, or a window begun, brings a key back by itself. */
async function isExhausted(db: Db, row: apiKeys.StoredApiKey, now: number): Promise<boolean> {
  const key = { organisationId: row.organisation_id, kind: 'api_key', id: row.id } as const;
  return (await usageBudgets.findState(db, key, now))?.isExhausted ?? false;
}

async function byApiKey(deps: AuthDeps, key: string, now: number): Promise<Principal> {
  if (!isWellFormedApiKey(key)) throw refusedKey('unknown');
  const db = deps.database.readable;
  const row = await apiKeys.findByHash(db, deps.keyring.hashCredential(key), now);
  if (row === undefined) throw refusedKey('unknown');
  const isOver = row.expires_at !== null && row.expires_at <= now;
  if (isOver || row.status !== 'active') throw refusedKey('expired', row);
  if (row.usage_limits !== null && (await isExhausted(db, row, now)))
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
  // What a key may do to others' keys, its scopes say.
  return userId === null ? null : { userId, sessionId: null, actsForOthers: true };
}

/** Not waited for, and no reason to refuse: reads are answered while nothing can be written. */
function recordUse({ database, uses }: AuthDeps, row: apiKeys.StoredApiKey, now: number): void {
  if (!apiKeys.isUseNews(row, now) || uses.has(row.id)) return;
  uses.add(row.id);
  void apiKeys
    .updateLastUsed(database.db, row, now)
    .catch(() => undefined)
    .finally(() => uses.delete(row.id));
}

const keptScopesMax = 1_000;
const keptScopes = new Map<string, { readonly text: string; readonly scopes: readonly string[] }>();

/** Parsed once for a key, as long as it holds the same: it sends many requests, and texts compare at once. */
function scopesOf({ id, scopes: text }: apiKeys.StoredApiKey): readonly string[] {
  const known = keptScopes.get(id);
  if (known?.text === text) return known.scopes;
  const scopes = JSON.parse(text) as string[];
  if (keptScopes.size === keptScopesMax) keptScopes.clear();
  keptScopes.set(id, { text, scopes });
  return scopes;
}

/**
 * A service account by its own secret, in its home TSG and without scopes: good for asking for a
 * token only. The same work is done for a client that does not exist, so that neither the answer
 * nor its time tells which ones do.
 */
async function byClientSecret(
  deps: AuthDeps,
  encoded: string,
  remoteAddress: string,
  now: number,
): Promise<Principal> {
  const db = deps.database.readable;
  const clients = readingsOf(decodeBasic(encoded));
  const found = await Promise.all(clients.map((client) => findClient(deps, db, client)));
  const account = found.find(({ isProved }) => isProved)?.account;
  if (account === undefined) {
    const named = found.find((one) => one.account !== undefined)?.account;
    const wrong = { ...wrongSecret, tsgId: named?.tsg_id ?? null, subjectId: named?.id ?? null };
    const { clientId } = clients[0]!;
    // Only wrong secrets count and only they are slowed, so nobody can lock out somebody else.
    const allowed = deps.throttle.recordFailure(
      [remoteAddress, `${remoteAddress} ${clientId}`],
      now,
    );
    throw new CredentialRefused(wrong, allowed ? 'unauthorized' : 'rateLimited');
  }
  const organisation = await organisations.findByTsgId(db, account.tsg_id);
  if (organisation === undefined) throw new CredentialRefused(wrongSecret);
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

async function findClient(
  { keyring }: Pick<AuthDeps, 'keyring'>,
  db: Db,
  { clientId, secret }: Client,
): Promise<{ readonly account?: serviceAccounts.ServiceAccountRow; readonly isProved: boolean }> {
  const account = await serviceAccounts.findByClientId(db, clientId);
  const expected = account?.secret_hmac ?? Buffer.alloc(secretHmacBytes);
  const isProved = timingSafeEqual(keyring.hashCredential(secret), expected);
  return { ...(account && { account }), isProved: isProved && account !== undefined };
}

/**
 * As it was sent and, where that is something else, as RFC 6749 2.3.1 reads it: some clients encode
 * both parts as forms are before they put them together, and most do not.
 */
function readingsOf(sent: Client): Client[] {
  const decoded = { clientId: formDecoded(sent.clientId), secret: formDecoded(sent.secret) };
  const isSame = decoded.clientId === sent.clientId && decoded.secret === sent.secret;
  return isSame || !clientIdPattern.test(decoded.clientId) ? [sent] : [sent, decoded];
}

/** The text itself where it is no such encoding. */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Printable ASCII, because the column is; anything else cannot be a client of ours. */
const clientIdPattern = /^[\x21-\x7e]{1,255}$/;

/** Client id up to the first colon; what follows is the secret and may hold more colons. */
function decodeBasic(encoded: string): Client {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const clientId = text.slice(0, Math.max(colon, 0));
  if (!clientIdPattern.test(clientId)) throw new CredentialRefused(wrongSecret);
  return { clientId, secret: text.slice(colon + 1) };
}
