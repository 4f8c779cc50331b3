/** Implements the check of a caller's token: signature, validity period and claims. */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import type { Outbound } from '../upstream/outbound.ts';
import { CheckError, type CheckOutcome, type CheckRunner, type CheckSubject } from './check.ts';
import { matchesValue } from './request-checks.ts';
import type { Searches } from './searches.ts';

type Parameters = Readonly<Record<string, unknown>>;

const fetchTimeoutMs = 5_000;
const defaultCacheSeconds = 86_400;
const defaultToleranceSeconds = 5;

/** The issuer of a token and whom it is for. */
interface TokenRecipient {
  readonly issuer: string;
  /** A token must name one of them. */
  readonly audiences: readonly string[];
}

/**
 * Verifies the token in the headers of a caller, whose names are in lower case; any issuer and audience without a
 * recipient.
 *
 * @throws CheckError when nothing can verify it now
 */
export type TokenVerifier = (
  headers: CheckSubject['headers'],
  recipient?: TokenRecipient | null,
) => Promise<CheckOutcome>;

export function tokenCheck(
  parameters: Parameters,
  searches: Searches,
  outbound: Outbound,
): CheckRunner {
  const verify = tokenVerifier(parameters, searches, outbound);
  return ({ headers }) => verify(headers);
}

/** Passes for a token that one of the key sets verifies, or that introspection reports as active. */
export function tokenVerifier(
  parameters: Parameters,
  searches: Searches,
  outbound: Outbound,
): TokenVerifier {
  const verify =
    parameters.jwks === undefined && parameters.jwksUri === undefined
      ? introspectionVerifier(parameters, outbound)
      : keyVerifier(parameters, outbound);
  return async (headers, recipient = null) => {
    const token = tokenOf(headers, parameters.headerKey);
    if (token === null) return failed(noToken);
    const claims = await verify(token);
    if (claims === null) return failed('the token is not valid');
    const fault = recipient === null ? null : recipientFault(claims, recipient);
    if (fault !== null) return failed(fault);
    const missing = namesOf(parameters.requiredClaims).filter((name) => claims[name] === undefined);
    if (missing.length > 0) return failed('the token lacks a claim');
    const values = await hasValues(claims, parameters.claimValues, searches);
    return values ? passed : failed('a claim has another value');
  };
}

const passed: CheckOutcome = { passes: true, explanation: 'the token is valid' };

/** Explanation of a request without a token. */
export const noToken = 'there is no token';

function recipientFault(
  { iss, aud }: JWTPayload,
  { issuer, audiences }: TokenRecipient,
): string | null {
  if (iss !== issuer) return 'the token is of another issuer';
  const isMeant = [aud ?? []].flat().some((one) => audiences.includes(one));
  return isMeant ? null : 'the token is for another recipient: its aud must be this server';
}

function failed(explanation: string): CheckOutcome {
  return { passes: false, explanation };
}

function tokenOf(headers: CheckSubject['headers'], headerKey: unknown): string | null {
  const value = headers[String(headerKey ?? 'authorization').toLowerCase()];
  return typeof value === 'string' ? value.replace(/^Bearer +/i, '') : null;
}

type Verify = (token: string) => Promise<JWTPayload | null>;

function keyVerifier(parameters: Parameters, outbound: Outbound): Verify {
  const { jwks, jwksUri, algorithms = ['RS256'], clockTolerance, maxTokenAge = '1d' } = parameters;
  const cacheSeconds = parameters.cacheMaxAge ?? defaultCacheSeconds;
  const sets: JWTVerifyGetKey[] = [
    ...(jwks === undefined ? [] : [createLocalJWKSet(documentOf(jwks) as JSONWebKeySet)]),
    ...(typeof jwksUri === 'string' ? jwksUri.split(',') : []).map((uri) =>
      remoteSet(uri.trim(), Number(cacheSeconds), outbound),
    ),
  ];
  const options = {
    algorithms: algorithms as string[],
    clockTolerance: Number(clockTolerance ?? defaultToleranceSeconds),
    maxTokenAge: String(maxTokenAge),
  };
  return async (token) => {
    for (const keys of sets) {
      try {
        return (await jwtVerify(token, keys, options)).payload;
      } catch (error) {
        if (error instanceof CheckError) throw error;
      }
    }
    return null;
  };
}

/** Keys are fetched again when they are too old, or when a token names an unknown key. */
function remoteSet(uri: string, cacheSeconds: number, outbound: Outbound): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(uri), {
    cacheMaxAge: cacheSeconds * 1000,
    timeoutDuration: fetchTimeoutMs,
    [customFetch]: async (url) => {
      const { status, body } = await outbound
        .request({ url, method: 'GET', headers: {}, body: null, timeoutMs: fetchTimeoutMs })
        .catch((error: Error) => {
          throw new CheckError(`the keys cannot be fetched: ${error.message}`);
        });
      return new Response(new Uint8Array(body), { status });
    },
  });
}

function introspectionVerifier({ introspectEndpoint }: Parameters, outbound: Outbound): Verify {
  return async (token) => {
    const answer = await outbound
      .request({
        url: String(introspectEndpoint),
        method: 'POST',
        timeoutMs: fetchTimeoutMs,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: Buffer.from(new URLSearchParams({ token }).toString()),
      })
      .catch((error: Error) => {
        throw new CheckError(`the token cannot be introspected: ${error.message}`);
      });
    const claims = documentOf(answer.body.toString('utf8')) as JWTPayload & { active?: unknown };
    return answer.status === 200 && claims.active === true ? claims : null;
  };
}

async function hasValues(
  claims: JWTPayload,
  expected: unknown,
  searches: Searches,
): Promise<boolean> {
  const rules = Object.entries((expected ?? {}) as Record<string, Parameters>);
  const has = await Promise.all(
    rules.map(([name, { values, matchType }]) =>
      matchesValue(claims[name], values, matchType, searches),
    ),
  );
  return has.every(Boolean);
}

function namesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as string[]) : [];
}

function documentOf(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new CheckError('a JSON document is malformed');
  }
}
