/** Reads the issuers of tokens from the settings. */
import { Failure } from '../failure.ts';
import type { Issuer } from '../gateway/callers/issuer-keys.ts';
import { outboundUrlFault } from '../model/services/outbound-url.ts';
import type { TokenSettings } from '../settings/groups/inference.ts';
import type { Settings } from '../settings.ts';

/**
 * Each address once, with all organisations that trust its keys.
 *
 * @throws Failure for a forbidden address
 */
export function issuersOf({ keySets }: TokenSettings, trusted: Settings['trustedHosts']): Issuer[] {
  return [...Map.groupBy(keySets, ({ url }) => url)].map(([url, entries]) => {
    const fault = outboundUrlFault(url, trusted) ?? plainFault(url);
    if (fault !== null) {
      throw new Failure('invalidInput', `GATEWRIGHT_JWT_JWKS_URIS: ${url} ${fault}`);
    }
    const tsgIds = entries.map(({ tsgId }) => tsgId);
    return { url, tsgIds: tsgIds.includes(null) ? null : new Set(tsgIds as string[]) };
  });
}

/** Rejects plain HTTP: an attacker who can alter the response could issue valid tokens. */
function plainFault(url: string): string | null {
  const isPlain = url.toLowerCase().startsWith('http:');
  if (!isPlain || outboundUrlFault(url, []) !== null) return null;
  return 'must begin with https unless its host is private and trusted';
}
