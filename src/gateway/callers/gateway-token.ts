/** Verifies tokens that callers send in place of keys, and builds the key that each token represents. */
import { hash } from 'node:crypto';
import { decodeProtectedHeader, errors, jwtVerify, type ProtectedHeaderParameters } from 'jose';
import { toRefusedCredential as refusedAs } from '../../auth/refused-credentials.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { TokenWorkspaceRow } from '../../store/reads/gateway-reads.ts';
import type { GatewayRecords } from '../../store/records/gateway-records.ts';
import { windowAt } from '../../store/usage/usage-budgets.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { type DefaultGuardrails, defaultGuardrails } from './default-guardrails.ts';
import { type GatewayKey, type GatewayWorkspace, workspaceOf } from './gateway-key.ts';
import {
  type IssuerKey,
  type IssuerKeys,
  IssuerKeysUnavailable,
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

/** Requirements of a deployment for tokens, in addition to a valid signature. */
export interface TokenRules {
  /** Null accepts any issuer. */
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly clockToleranceSeconds: number;
  /** Scopes of tokens without a scope claim. */
  readonly defaultScopes: readonly string[];
}

export interface GatewayTokensOptions {
  readonly records: Pick<GatewayRecords, 'storeTokenWindows'>;
  readonly reads: Pick<ConfigurationReads, 'findTokenWorkspace' | 'listBudgets'>;
  readonly issuerKeys: IssuerKeys;
  readonly rules: TokenRules;
  /** Workspaces that tokens name. */
  readonly workspaces: SnapshotCache<TokenWorkspace>;
}

/** A token must be for one of them; null accepts every token. */
export type Audiences = readonly string[] | null;

/** A workspace with its organisation. */
export interface TokenWorkspace {
  readonly organisationId: string;
  readonly tsgId: string;
  readonly workspace: GatewayWorkspace;
  readonly guardrails: DefaultGuardrails;
  readonly terms: GatewayKey['terms'];
}

/** A token whose signature and claims are valid. */
interface VerifiedToken {
  readonly claims: TokenClaims;
  /** Issuer keys that verify its signature. */
  readonly signers: readonly IssuerKey[];
  /** Version of the issuer keys at that time. */
  readonly version: string;
  /** The key that it represents; valid while `tenant` is the current snapshot of its workspace. */
  key: { readonly tenant: TokenWorkspace; readonly key: GatewayKey } | null;
}

const tokenLengthMax = 8192;
const kidLengthMax = 256;
const verifiedMax = 10_000;
const shape = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/;
/** Accepted `typ` values: JSON Web Tokens, and access tokens (RFC 9068). */
const types = new Set(['jwt', 'at+jwt']);

/** Whether a credential has the form of a token, which no API key has. */
export function isToken(credential: string): boolean {
  return credential.startsWith('eyJ') && shape.test(credential);
}

export class GatewayTokens {
  readonly #options: GatewayTokensOptions;
  /** Keyed by digest, so that no token stays in memory. */
  readonly #verified = new Map<string, VerifiedToken>();
  readonly #audiences: Audiences;

  constructor(options: GatewayTokensOptions) {
    this.#options = options;
    const { audience } = options.rules;
    this.#audiences = audience === null ? null : [audience];
  }

  /** The audience that the rules require; null for none. */
  get audience(): string | null {
    return this.#options.rules.audience;
  }

  /**
   * Returns the key that the token represents; synchronously when it was verified before and nothing changed.
   *
   * @param audiences by default the one of the rules
   * @throws GatewayError when the token is invalid, or cannot be verified now
   */
  find(
    token: string,
    now: number,
    audiences: Audiences = this.#audiences,
  ): GatewayKey | Promise<GatewayKey> {
    const { issuerKeys, workspaces, rules } = this.#options;
    // A verification is valid only as long as the keys it used.
    issuerKeys.renewIfStale();
    const digest = hash('sha256', token, 'base64url');
    const verified = this.#verified.get(digest);
    if (verified === undefined || verified.version !== issuerKeys.version) {
      return this.#verify(token, digest, now).then((verified) => {
        requireAudience(verified, audiences);
        return this.#keyOf(verified, now);
      });
    }
    if ((verified.claims.exp + rules.clockToleranceSeconds) * 1000 <= now) {
      this.#verified.delete(digest);
      throw expired(verified.key?.key);
    }
    requireAudience(verified, audiences);
    const isCurrent =
      verified.key !== null &&
      workspaces.peek(workspaceKey(verified.claims)) === verified.key.tenant;
    return isCurrent ? verified.key!.key : this.#keyOf(verified, now);
  }

  async #verify(token: string, digest: string, now: number): Promise<VerifiedToken> {
    const { issuerKeys, rules } = this.#options;
    const { issuer, clockToleranceSeconds: clockTolerance } = rules;
    const kid = kidOf(token);
    const { keys, version } = await findIssuerKeys(issuerKeys, kid);
    const signers: IssuerKey[] = [];
    let payload: unknown;
    for (const candidate of keys) {
      try {
        const verified = await jwtVerify(token, candidate.key, {
          algorithms: [candidate.algorithm],
          ...(issuer === null ? {} : { issuer }),
          clockTolerance,
          currentDate: new Date(now),
          requiredClaims: ['exp'],
        });
        payload = verified.payload;
        signers.push(candidate);
      } catch (thrown) {
        if (!isSignedByOtherKey(thrown)) throw refusalOf(thrown);
      }
    }
    if (signers.length === 0) throw invalid('is not signed with a key of a trusted issuer');
    const claims = readClaims(payload);
    if ('fault' in claims) throw invalid(`cannot be used: its claim ${claims.fault}`);
    const verified: VerifiedToken = { claims, signers, version, key: null };
    this.#verified.set(digest, verified);
    if (this.#verified.size > verifiedMax) {
      this.#verified.delete(this.#verified.keys().next().value!);
    }
    return verified;
  }

  async #keyOf(verified: VerifiedToken, now: number): Promise<GatewayKey> {
    const { claims, signers } = verified;
    const name = workspaceKey(claims);
    const { workspaces, rules } = this.#options;
    const tenant = workspaces.peek(name) ?? (await workspaces.get(name, () => this.#load(claims)));
    const isTrusted = ({ issuer: { tsgIds } }: IssuerKey): boolean =>
      tsgIds === null || (tenant !== undefined && tsgIds.has(tenant.tsgId));
    // The same error in both cases, so that no issuer learns which other organisations exist.
    if (tenant === undefined || !signers.some(isTrusted)) {
      throw invalid(
        'names an organisation or workspace that does not exist or that its issuer may not use',
      );
    }
    if (verified.key?.tenant === tenant) return verified.key.key;
    const key = keyOf(tenant, claims, rules);
    verified.key = { tenant, key };
    this.#storeWindows(tenant, claims, key, now);
    return key;
  }

  async #load(claims: TokenClaims): Promise<SnapshotEntry<TokenWorkspace> | undefined> {
    const { reads } = this.#options;
    const row = await reads.findTokenWorkspace(organisationOf(claims), workspaceRefOf(claims));
    if (row === undefined) return undefined;
    const { organisationId, tsgId, generation } = row;
    const workspace = workspaceOf(row.workspace);
    const guardrails = defaultGuardrails(row.defaults, row.workspace, row.exclusion);
    const subjects = workspaceSubjects(workspace);
    const terms = isLimited(row.workspace)
      ? await readTerms(reads, organisationId, subjects)
      : noTerms;
    return {
      organisationId,
      generation,
      value: { organisationId, tsgId, workspace, guardrails, terms },
    };
  }

  /** Stores when the budget windows of the token end, so that a job deletes their counters; not awaited. */
  #storeWindows(
    { organisationId }: TokenWorkspace,
    { exp }: TokenClaims,
    { terms }: GatewayKey,
    now: number,
  ) {
    for (const { subjectKind, subjectId, window } of terms.budgets) {
      if (subjectKind !== 'token' || window.next_reset_at === null) continue;
      const ends = [now, exp * 1000].map((ms) => windowAt(window, ms));
      const token = { organisationId, id: subjectId };
      this.#options.records.storeTokenWindows(token, ends, now).catch(() => undefined);
    }
  }
}

/** @throws GatewayError for a token that is for another recipient */
function requireAudience({ claims }: VerifiedToken, audiences: Audiences): void {
  if (audiences?.length === 0) {
    const settings = 'GATEWRIGHT_MCP_URL or GATEWRIGHT_JWT_AUDIENCE';
    throw invalid(`is not accepted here, because no audience is configured: set ${settings}`);
  }
  if (audiences === null || [claims.aud ?? []].flat().some((one) => audiences.includes(one)))
    return;
  throw invalid('cannot be used: its claim aud is missing or invalid');
}

function isLimited(row: TokenWorkspaceRow['workspace']): boolean {
  return (row.usage_limits ?? row.rate_limits) !== null;
}

function organisationOf({ organisation_id: id, tsg_id: tsgId }: TokenClaims): string {
  return id ?? tsgId!;
}

function workspaceRefOf({ workspace_id: id, workspace_slug: slug }: TokenClaims): string {
  return id ?? slug!;
}

function workspaceKey(claims: TokenClaims): string {
  return `${organisationOf(claims)} ${workspaceRefOf(claims)}`;
}

/** @throws GatewayError for a token that cannot be valid, whatever keys the issuers publish */
function kidOf(token: string): string {
  if (token.length > tokenLengthMax) throw invalid(`has more than ${tokenLengthMax} characters`);
  const { alg, kid, typ } = headerOf(token);
  if (!tokenAlgorithms.has(alg)) {
    throw invalid(`must be signed with ${[...tokenAlgorithms].join(', ')}`);
  }
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
  if (!types.has(type)) throw invalid('has a typ other than JWT');
  if (typeof kid === 'string' && kid !== '' && kid.length <= kidLengthMax) return kid;
  throw invalid('has no kid, the name of its signing key');
}

function headerOf(token: string): ProtectedHeaderParameters {
  try {
    return decodeProtectedHeader(token);
  } catch {
    throw invalid('cannot be read');
  }
}

async function findIssuerKeys(issuerKeys: IssuerKeys, kid: string): Promise<NamedKeys> {
  try {
    return await issuerKeys.find(kid);
  } catch (thrown) {
    if (!(thrown instanceof IssuerKeysUnavailable)) throw thrown;
    const message = 'The keys that verify tokens are temporarily unavailable; try again';
    throw new GatewayError('unavailable', message, null, { cause: thrown });
  }
}

/** Whether another key of the same name may have signed the token. */
function isSignedByOtherKey(thrown: unknown): boolean {
  return (
    thrown instanceof errors.JWSSignatureVerificationFailed ||
    thrown instanceof errors.JOSEAlgNotAllowed
  );
}

function refusalOf(thrown: unknown): unknown {
  if (thrown instanceof errors.JWTExpired) return expired(null, thrown);
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    return invalid(`cannot be used: its claim ${thrown.claim} is missing or invalid`, thrown);
  }
  return thrown instanceof errors.JOSEError ? invalid('cannot be verified', thrown) : thrown;
}

/** `key` is the key that the token represented, if the token was verified before. */
function expired(key: GatewayKey | null | undefined, cause?: unknown): GatewayError {
  const whose = key && { organisationId: key.organisationId, subjectId: key.id };
  const refused = refusedAs({ credential: 'token', reason: 'expired', ...whose });
  return new GatewayError('token_expired', 'The token has expired', null, { cause, refused });
}

const unknown = refusedAs({ credential: 'token', reason: 'unknown' });

function invalid(what: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_token', `The token ${what}`, null, { cause, refused: unknown });
}

/** Builds the workspace key that the token represents. */
function keyOf(
  { organisationId, workspace, guardrails, terms }: TokenWorkspace,
  claims: TokenClaims,
  { defaultScopes, clockToleranceSeconds }: TokenRules,
): GatewayKey {
  const { sub, defaults = {} } = claims;
  const tenant = { organisationId, workspaceId: workspace.id };
  const own = termsOfToken(tenant, claims);
  return {
    kind: 'token',
    id: subjectIdOf(tenant, claims),
    name: sub ?? 'token',
    organisationId,
    workspace,
    guardrails,
    personId: null,
    status: 'active',
    endsAtMs: (claims.exp + clockToleranceSeconds) * 1000,
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
