/**
 * Issues and verifies access tokens: short-lived JWTs signed by this deployment for one tenant and its
 * roles.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { DeploymentKeys } from './keyring.ts';
import { CredentialRefused } from './refused-credentials.ts';

/** Lifetime of a token in seconds. */
export const tokenLifetimeSeconds = 900;

/** Claims of a token. */
export interface TokenGrant {
  readonly serviceAccountId: string;
  /** Tenant the token is valid for; it may differ from the service account's own. */
  readonly tsgId: string;
  /** Workspace the roles are confined to, or null for the whole tenant. */
  readonly workspaceId: string | null;
  readonly roles: readonly string[];
}

export interface AccessTokens {
  /** `now` in milliseconds since the epoch. */
  issue(grant: TokenGrant, now: number): Promise<string>;
  /** @throws CredentialRefused; the response is the same for every reason */
  verify(token: string, now: number): Promise<TokenGrant>;
}

const algorithm = 'EdDSA';
const issuer = 'gatewright';
const audience = 'gatewright-admin';
const tokenType = 'at+jwt';
const tokenLengthMax = 8192;
/** Expiry is inclusive: a token is valid at 900 s and refused at 901 s. */
const toleranceSeconds = 1;
const verifiedTokensMax = 1000;

/** PKCS #8 wrapping of a raw Ed25519 seed (RFC 8410). */
const ed25519Header = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Every replica derives the same key from the deployment key, so any replica can verify a token. */
export function createAccessTokens(
  keyring: Pick<DeploymentKeys, 'tokenSigningSeed'>,
): AccessTokens {
  let pair: SigningPair | undefined;
  // Derived on first use: API keys do not need it.
  const keys = (): SigningPair => {
    pair ??= deriveSigningPair(keyring.tokenSigningSeed);
    return pair;
  };
  /**
   * Keyed by digest, so that no token is stored. Verifying a signature takes 300 times as long as this
   * look-up.
   */
  const verified = new Map<string, { readonly grant: TokenGrant; readonly expiresAt: number }>();
  return {
    issue: ({ serviceAccountId, tsgId, workspaceId, roles }, now) => {
      const { privateKey, kid } = keys();
      const issuedAt = Math.floor(now / 1000);
      const claims = { tsg_id: tsgId, access: roles };
      return new SignJWT(workspaceId === null ? claims : { ...claims, workspace_id: workspaceId })
        .setProtectedHeader({ alg: algorithm, typ: tokenType, kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(serviceAccountId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + tokenLifetimeSeconds)
        .setJti(randomUUID())
        .sign(privateKey);
    },
    verify: async (token, now) => {
      if (token.length > tokenLengthMax) throw new CredentialRefused(unknown);
      const digest = createHash('sha256').update(token).digest('base64');
      const nowSeconds = Math.floor(now / 1000);
      const cached = verified.get(digest);
      if (cached !== undefined && cached.expiresAt > nowSeconds - toleranceSeconds) {
        return cached.grant;
      }
      const key = (header: { kid?: string }): KeyObject => {
        const { publicKey, kid } = keys();
        if (header.kid !== kid) throw new errors.JWKSNoMatchingKey();
        return publicKey;
      };
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [algorithm],
          issuer,
          audience,
          typ: tokenType,
          currentDate: new Date(now),
          clockTolerance: toleranceSeconds,
          requiredClaims: ['sub', 'tsg_id', 'access', 'exp', 'jti'],
        });
        const grant = readClaims(payload);
        verified.set(digest, { grant, expiresAt: payload.exp! });
        if (verified.size > verifiedTokensMax) verified.delete(verified.keys().next().value!);
        return grant;
      } catch (error) {
        if (error instanceof errors.JOSEError) {
          throw tokenRefusal(error);
        }
        throw error;
      }
    },
  };
}

const unknown = { credential: 'access_token', reason: 'unknown' } as const;

function tokenRefusal(cause: errors.JOSEError): CredentialRefused {
  // Claims are read only after the signature was found valid; an expired token is one such case.
  const { serviceAccountId: subjectId, tsgId } =
    cause instanceof errors.JWTExpired ? readClaims(cause.payload) : {};
  const refused = tsgId ? { ...unknown, reason: 'expired' as const, tsgId, subjectId } : unknown;
  return new CredentialRefused(refused, 'unauthorized', { cause });
}

export interface SigningPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Key id in the header of a token. */
  readonly kid: string;
}

/** An Ed25519 pair, so that every replica signs with the same key. */
export function deriveSigningPair(seed: Buffer): SigningPair {
  const key = Buffer.concat([ed25519Header, seed]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  const exported = publicKey.export({ format: 'der', type: 'spki' });
  const kid = createHash('sha256').update(exported).digest('hex').slice(0, 16);
  return { privateKey, publicKey, kid };
}

/** The signature proves that this deployment wrote the claims, so they need no validation. */
function readClaims(payload: Record<string, unknown>): TokenGrant {
  return {
    serviceAccountId: payload.sub as string,
    tsgId: payload.tsg_id as string,
    workspaceId: (payload.workspace_id as string | undefined) ?? null,
    roles: payload.access as string[],
  };
}
