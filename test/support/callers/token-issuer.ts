/**
 * Starts a token issuer: real keys, published by a real HTTP server, and tokens signed with them.
 */
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { Settings } from '../../../src/settings.ts';
import { sendJson, startUpstream, type TestUpstream } from '../upstream/upstream.ts';

type TokenSettings = NonNullable<Settings['inference']['tokens']>;

export interface TokenIssuer extends AsyncDisposable {
  /** The URL of its key set. */
  readonly url: string;
  readonly host: string;
  /** Number of requests for its keys. */
  readonly fetches: () => number;
  /** The keys that it publishes. */
  readonly published: JWK[];
  /** Answers in place of the keys, unless it is null. */
  answer: TestUpstream['script'] | null;
  /** Creates and publishes a key pair under this name. */
  addKey(kid: string, algorithm?: string): Promise<SigningKey>;
}

interface SigningKey {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
  sign(
    claims: Readonly<Record<string, unknown>>,
    header?: Record<string, unknown>,
  ): Promise<string>;
}

/** Settings of a gateway that accepts tokens whose keys are at this address. */
export function tokenSettings(keysUrl: string, rules: Partial<TokenSettings> = {}): TokenSettings {
  return {
    keySets: [{ url: keysUrl, tsgId: null }],
    issuer: null,
    audience: null,
    clockToleranceSeconds: 5,
    defaultScopes: [],
    ...rules,
  };
}

export async function startTokenIssuer(): Promise<TokenIssuer> {
  const published: JWK[] = [];
  const issuer: { answer: TestUpstream['script'] | null } = { answer: null };
  const upstream = await startUpstream((request, response) =>
    issuer.answer === null
      ? sendJson(response, { keys: published })
      : issuer.answer(request, response),
  );
  return Object.assign(issuer, {
    url: upstream.url.replace(/\/v1$/, '/keys'),
    host: upstream.host,
    fetches: () => upstream.reached.length,
    published,
    addKey: async (kid: string, algorithm = 'RS256') => {
      const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
      const jwk = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' };
      published.push(jwk);
      return {
        privateKey,
        jwk,
        sign: (claims: Readonly<Record<string, unknown>>, header: Record<string, unknown> = {}) =>
          new SignJWT({ ...claims })
            .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid, ...header })
            .sign(privateKey),
      };
    },
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  });
}
