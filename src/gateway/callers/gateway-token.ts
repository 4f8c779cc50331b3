/** Knows tokens as the gateway uses them in place of keys: whether one is good, and whom it stands for. */
import { hash } from 'node:crypto';
import { decodeProtectedHeader, errors, jwtVerify, type ProtectedHeaderParameters } from 'jose';
import { toRefusedCredential as refusedAs } from '../../auth/refused-credentials.ts';
import type { Database } from '../../store/connection/db.ts';
import * as gatewayReads from '../../store/reads/gateway-reads.ts';
import { windowAt } from '../../store/usage/usage-budgets.ts';
import * as usageWindows from '../../store/usage/usage-windows.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { type DefaultGuardrails, defaultGuardrails } from './default-guardrails.ts';
import { type GatewayKey, type GatewayWorkspace, workspaceOf } from './gateway-key.ts';
import {
  type IssuerKey,
  type IssuerKeys,
  KeysUnknown,
  type NamedKeys,
  tokenAlgorithms,
} from './issuer-keys.ts';
import { noTerms, readTerms, workspaceSubjects } from './limit-terms.ts';
import type { SnapshotCache, SnapshotEntry } from './snapshot-cache.ts';
import {
  readClaims,
  scopesOf,
  subjectIdOf,
  type TokenClaims,
  termsOfToken,
} from './token-claims.ts';

/** What a deployment asks of tokens, beside a good signature. */
export interface TokenRules {
  /** Null for anybody's. */
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly clockToleranceSeconds: number;
  /** Of tokens that say nothing of theirs. */
  readonly defaultScopes: readonly string[];
}

export interface GatewayTokensOptions {
  readonly database: Pick<Database, 'readable' | 'db'>;
  /** Throws, as a database that is away does, until it has been proved to be the right one. */
  readonly requireConnection: () => void;
  readonly issuerKeys: IssuerKeys;
  readonly rules: TokenRules;
  /** Organisations and workspaces that tokens name. */
  readonly places: SnapshotCache<Place>;
}

/** A workspace with its organisation. */
export interface Place {
  readonly organisationId: string;
  readonly tsgId: string;
  readonly workspace: GatewayWorkspace;
  readonly guardrails: DefaultGuardrails;
  readonly terms: GatewayKey['terms'];
}

/** A token that was found good. */
interface Verified {
  readonly claims: TokenClaims;
  /** Those whose keys have signed it. */
  readonly signers: readonly IssuerKey[];
  /** Of the keys, when it was. */
  readonly version: string;
  /** What it stands for, as long as its place is the one of then. */
  key: { readonly place: Place; readonly key: GatewayKey } | null;
}

const tokenLengthMax = 8192;
const kidLengthMax = 256;
const verifiedMax = 10_000;
const shape = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/;
/** Of JSON Web Tokens, and of those that are for access (RFC 9068). */
const types = new Set(['jwt', 'at+jwt']);

/** Whether a credential is written like a token, and so none of our keys. */
export function isToken(credential: string): boolean {
  return credential.startsWith('eyJ') && shape.test(credential);
}

export class GatewayTokens {
  readonly #options: GatewayTokensOptions;
  /** By digest, so that nothing in memory shows a token. */
  readonly #verified = new Map<string, Verified>();

  constructor(options: GatewayTokensOptions) {
    this.#options = options;
  }

  /**
   * Whom the token stands for; at once where it was verified before and nothing has changed.
   *
   * @throws GatewayError for one that is not good, or of which nobody can say now
   */
  find(token: string, now: number): GatewayKey | Promise<GatewayKey> {
    const { issuerKeys, places, rules } = this.#options;
    // What was verified lasts no longer than its keys do.
    issuerKeys.renewIfOld();
    const digest = hash('sha256', token, 'base64url');
    const known = this.#verified.get(digest);
    if (known === undefined || known.version !== issuerKeys.version) {
      return this.#verify(token, digest, now).then((verified) => this.#keyOf(verified, now));
    }
    if ((known.claims.exp + rules.clockToleranceSeconds) * 1000 <= now) {
      this.#verified.delete(digest);
      throw expired(known.key?.key);
    }
    const isCurrent =
      known.key !== null && places.peek(placeName(known.claims)) === known.key.place;
    return isCurrent ? known.key!.key : this.#keyOf(known, now);
  }

  async #verify(token: string, digest: string, now: number): Promise<Verified> {
    const { issuerKeys, rules } = this.#options;
    const { issuer, audience, clockToleranceSeconds: clockTolerance } = rules;
    const kid = kidOf(token);
    const { keys, version } = await keysNamed(issuerKeys, kid);
    const signers: IssuerKey[] = [];
    let payload: unknown;
    for (const candidate of keys) {
      try {
        const verified = await jwtVerify(token, candidate.key, {
          algorithms: [candidate.algorithm],
          ...(issuer === null ? {} : { issuer }),
          ...(audience === null ? {} : { audience }),
          ...{ clockTolerance, currentDate: new Date(now), requiredClaims: ['exp'] },
        });
        payload = verified.payload;
        signers.push(candidate);
      } catch (thrown) {
        if (!isOfOtherKey(thrown)) throw refusalOf(thrown);
      }
    }
    if (signers.length === 0) throw invalid('is signed by nobody whom this gateway trusts');
    const claims = readClaims(payload);
    if ('fault' in claims) throw invalid(`cannot be used: its claim ${claims.fault}`);
    const found: Verified = { claims, signers, version, key: null };
    this.#verified.set(digest, found);
    if (this.#verified.size > verifiedMax) {
      this.#verified.delete(this.#verified.keys().next().value!);
    }
    return found;
  }

  async #keyOf(verified: Verified, now: number): Promise<GatewayKey> {
    const { claims, signers } = verified;
    const name = placeName(claims);
    const { places, rules } = this.#options;
    const place = places.peek(name) ?? (await places.get(name, () => this.#loadPlace(claims)));
    const isTrusted = ({ issuer: { tsgIds } }: IssuerKey): boolean =>
      tsgIds === null || (place !== undefined && tsgIds.has(place.tsgId));
    // One answer, so that no issuer learns of organisations that are not its own.
    if (place === undefined || !signers.some(isTrusted)) {
      throw invalid('names an organisation or workspace that its issuer cannot speak for');
    }
    if (verified.key?.place === place) return verified.key.key;
    const key = keyOf(place, claims, rules.defaultScopes);
    verified.key = { place, key };
    this.#noteWindows(place, claims, key, now);
    return key;
  }

  async #loadPlace(claims: TokenClaims): Promise<SnapshotEntry<Place> | undefined> {
    const { database, requireConnection } = this.#options;
    requireConnection();
    const db = database.readable;
    const found = await gatewayReads.findPlace(db, organisationOf(claims), workspaceRefOf(claims));
    if (found === undefined) return undefined;
    const { organisationId, tsgId, generation } = found;
    const workspace = workspaceOf(found.workspace);
    const guardrails = defaultGuardrails(found.defaults, found.workspace, found.exclusion);
    const subjects = workspaceSubjects(workspace);
    const terms = isLimited(found.workspace)
      ? await readTerms(db, organisationId, subjects)
      : noTerms;
    return {
      organisationId,
      generation,
      value: { organisationId, tsgId, workspace, guardrails, terms },
    };
  }

  /** Says when the windows of its budget end, so that their counters go some day; not waited for. */
  #noteWindows(
    { organisationId }: Place,
    { exp }: TokenClaims,
    { terms }: GatewayKey,
    now: number,
  ) {
    for (const { subjectKind, subjectId, window } of terms.budgets) {
      if (subjectKind !== 'token' || window.next_reset_at === null) continue;
      const ends = [now, exp * 1000].map((ms) => windowAt(window, ms));
      const subject = { organisationId, kind: subjectKind, id: subjectId };
      usageWindows
        .insertAhead(this.#options.database.db, subject, ends, now)
        .catch(() => undefined);
    }
  }
}

function isLimited(row: gatewayReads.PlaceRow['workspace']): boolean {
  return (row.usage_limits ?? row.rate_limits) !== null;
}

function organisationOf({ organisation_id: id, tsg_id: tsgId }: TokenClaims): string {
  return id ?? tsgId!;
}

function workspaceRefOf({ workspace_id: id, workspace_slug: slug }: TokenClaims): string {
  return id ?? slug!;
}

function placeName(claims: TokenClaims): string {
  return `${organisationOf(claims)} ${workspaceRefOf(claims)}`;
}

/** @throws GatewayError for what no issuer needs to be asked about */
function kidOf(token: string): string {
  if (token.length > tokenLengthMax) throw invalid(`has more than ${tokenLengthMax} characters`);
  const { alg, kid, typ } = headerOf(token);
  if (!tokenAlgorithms.has(alg)) {
    throw invalid(`is signed in another way than ${[...tokenAlgorithms].join(', ')}`);
  }
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
  if (!types.has(type)) throw invalid('has another typ than JWT');
  if (typeof kid === 'string' && kid !== '' && kid.length <= kidLengthMax) return kid;
  throw invalid('has no kid, which names the key that it is signed with');
}

function headerOf(token: string): ProtectedHeaderParameters {
  try {
    return decodeProtectedHeader(token);
  } catch {
    throw invalid('cannot be read');
  }
}

async function keysNamed(issuerKeys: IssuerKeys, kid: string): Promise<NamedKeys> {
  try {
    return await issuerKeys.find(kid);
  } catch (thrown) {
    if (!(thrown instanceof KeysUnknown)) throw thrown;
    const message = 'The keys that tokens are signed with cannot be fetched now, try again';
    throw new GatewayError('unavailable', message, null, { cause: thrown });
  }
}

/** Another issuer may have a key of that name. */
function isOfOtherKey(thrown: unknown): boolean {
  return (
    thrown instanceof errors.JWSSignatureVerificationFailed ||
    thrown instanceof errors.JOSEAlgNotAllowed
  );
}

function refusalOf(thrown: unknown): unknown {
  if (thrown instanceof errors.JWTExpired) return expired(null, thrown);
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    return invalid(
      `cannot be used: its claim ${thrown.claim} is missing or not as it must be`,
      thrown,
    );
  }
  return thrown instanceof errors.JOSEError ? invalid('cannot be verified', thrown) : thrown;
}

/** `key` is what it stood for, where it was good before. */
function expired(key: GatewayKey | null | undefined, cause?: unknown): GatewayError {
  const whose = key && { organisationId: key.organisationId, subjectId: key.id };
  const refused = refusedAs({ credential: 'token', reason: 'expired', ...whose });
  return new GatewayError('token_expired', 'The token has expired', null, { cause, refused });
}

const unknown = refusedAs({ credential: 'token', reason: 'unknown' });

function invalid(what: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_token', `The token ${what}`, null, { cause, refused: unknown });
}

/** A workspace key of nobody's making, good for as long as its token is. */
function keyOf(
  { organisationId, workspace, guardrails, terms }: Place,
  claims: TokenClaims,
  defaultScopes: readonly string[],
): GatewayKey {
  const { sub, defaults = {} } = claims;
  const place = { organisationId, workspaceId: workspace.id };
  const own = termsOfToken(place, claims);
  return {
    ...{ kind: 'token', id: subjectIdOf(place, claims), name: sub ?? 'token' },
    ...{ organisationId, workspace, guardrails, personId: null, status: 'active', endsAtMs: null },
    scopes: scopesOf(claims, defaultScopes),
    rateLimits: claims.rate_limits ?? null,
    metadata: defaults.metadata ?? {},
    configId: defaults.config_id ?? null,
    allowsConfigOverride: defaults.allow_config_override ?? workspace.allowsConfigOverride,
    terms: {
      budgets: [...terms.budgets, ...own.budgets],
      rates: [...terms.rates, ...own.rates],
    },
    lastUsedAtMs: null,
  };
}
