/** Verifies tokens of the identity provider at which the callers of an MCP server sign in. */
import { LRUCache } from 'lru-cache';
import { CheckError } from '../../guardrails/check.ts';
import type { CheckTools } from '../../guardrails/guardrail.ts';
import { type TokenVerifier, tokenVerifier } from '../../guardrails/token-check.ts';
import { validationAlgorithms } from '../../model/guardrails/token-validation.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { OAuthFault } from '../oauth/oauth-fault.ts';
import { discoverKeySet } from '../oauth/server-metadata.ts';

const cachedMs = 10 * 60_000;

/** Verifies by the keys that the metadata of the issuer name (RFC 8414, OpenID Connect Discovery). */
export function issuerTokenVerifier(
  issuer: string,
  { searches, outbound }: CheckTools,
  trusted: TrustedHosts,
): TokenVerifier {
  const verifiers = new LRUCache<string, Promise<TokenVerifier>>({ max: 1, ttl: cachedMs });
  const find = async (): Promise<TokenVerifier> => {
    const jwksUri = await discoverKeySet({ outbound, trusted }, issuer).catch(throwCheckError);
    return tokenVerifier({ jwksUri, algorithms: validationAlgorithms }, searches, outbound);
  };
  return async (headers, recipient) => {
    let finding = verifiers.get(issuer);
    if (finding === undefined) {
      finding = find();
      verifiers.set(issuer, finding);
      finding.catch(() => verifiers.delete(issuer));
    }
    return await (await finding)(headers, recipient);
  };
}

function throwCheckError(error: unknown): never {
  if (!(error instanceof OAuthFault)) throw error;
  throw new CheckError(`its keys cannot be found: ${error.message}`);
}
