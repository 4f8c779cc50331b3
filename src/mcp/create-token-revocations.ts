/** Assembles what revokes the tokens of users at authorization servers. */
import { SecretManagers } from '../secret-managers/secret-managers.ts';
import type { Outbound } from '../upstream/outbound.ts';
import type { McpCallerOptions } from './mcp-caller.ts';
import { ClientSecrets } from './oauth/client-secrets.ts';
import { clientAddresses } from './oauth/connect-site.ts';
import { OAuthClients } from './oauth/oauth-clients.ts';
import { TokenRevocations, type TokenRevocationsOptions } from './oauth/token-revocations.ts';

interface RevocationOptions
  extends Omit<McpCallerOptions, 'mockUpstreamHost' | 'version'>,
    Pick<TokenRevocationsOptions, 'onResult'> {
  readonly outbound: Outbound;
  /** Address at which browsers reach the MCP gateway; null when it is not configured. */
  readonly publicUrl: string | null;
}

export function createTokenRevocations(options: RevocationOptions): TokenRevocations {
  const { database, keyring, clock, trusted, allowsOwnIdentity, onSecretRead: onRead } = options;
  const { outbound, publicUrl, onResult } = options;
  const managers = new SecretManagers({ trusted, clock, allowsOwnIdentity, onRead });
  const parts = {
    database,
    keyring,
    requests: { outbound, trusted },
    secrets: new ClientSecrets({ peek: () => undefined, get: (place) => managers.read(place) }),
    addresses: publicUrl === null ? null : clientAddresses(publicUrl),
    now: () => clock.now(),
  };
  const clients = new OAuthClients(parts);
  return new TokenRevocations({
    ...parts,
    clients,
    onResult,
    onEnd: () => managers[Symbol.asyncDispose](),
  });
}
