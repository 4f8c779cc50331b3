/** Creates the clients that call MCP servers, administrator-defined URLs and providers for the Admin API and jobs. */
import type { AdminDeps } from '../admin/request/deps.ts';
import type { Keyring } from '../auth/keyring.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { McpCaller } from '../mcp/mcp-caller.ts';
import { ClientSecrets } from '../mcp/oauth/client-secrets.ts';
import { clientAddresses } from '../mcp/oauth/connect-site.ts';
import { OAuthClients } from '../mcp/oauth/oauth-clients.ts';
import { TokenRevocations } from '../mcp/oauth/token-revocations.ts';
import { packageVersion } from '../package-root.ts';
import { SecretManagers } from '../secret-managers/secret-managers.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { Origins } from '../upstream/origins.ts';
import { Outbound } from '../upstream/outbound.ts';
import type { CountedRows } from './counted-rows.ts';
import { createProviderLists } from './provider-lists.ts';

/** Dispose closes its sockets. */
export interface OutboundClients
  extends Pick<AdminDeps, 'mcp' | 'mcpTokens' | 'outbound'>,
    AsyncDisposable {
  /** Lists the objects that providers store. */
  readonly lists: ReturnType<typeof createProviderLists>;
}

interface OutboundParts {
  readonly settings: Settings;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  readonly noteSecretRead: CountedRows['noteSecretRead'];
}

export function createOutboundClients(parts: OutboundParts): OutboundClients {
  const { settings, database, keyring, clock, noteSecretRead } = parts;
  const { trustedHosts: trusted, inference } = settings;
  const origins = new Origins(trusted);
  const mcp = new McpCaller({
    database,
    keyring,
    clock,
    trusted,
    mockUpstreamHost: inference.mockUpstreamHost,
    version: packageVersion(),
    allowsOwnIdentity: inference.signsInAsItself,
    onSecretRead: (place) => noteSecretRead(place, 'mcp'),
  });
  const lists = createProviderLists({ ...parts, unsealerOf: keyring.unsealerOf });
  const outbound = new Outbound(origins, trusted);
  const mcpTokens = tokenRevocations(parts, outbound);
  return {
    lists,
    mcp,
    mcpTokens,
    outbound,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([mcp, mcpTokens, lists].map((one) => one[Symbol.asyncDispose]()));
      await origins[Symbol.asyncDispose]();
    },
  };
}

/** Results are logged, because nobody waits for them. */
function tokenRevocations(
  { settings, database, keyring, clock, log, noteSecretRead }: OutboundParts,
  outbound: Outbound,
): TokenRevocations {
  const { trustedHosts: trusted, inference, mcp } = settings;
  const managers = new SecretManagers({
    trusted,
    clock,
    allowsOwnIdentity: inference.signsInAsItself,
    onRead: (place) => noteSecretRead(place, 'mcp'),
  });
  const secrets = new ClientSecrets({
    peek: () => undefined,
    get: (place) => managers.read(place),
  });
  const addresses = mcp.publicUrl === null ? null : clientAddresses(mcp.publicUrl);
  const requests = { outbound, trusted };
  const parts = { database, keyring, requests, secrets, addresses, now: () => clock.now() };
  return new TokenRevocations({
    ...parts,
    clients: new OAuthClients(parts),
    onResult: ({ fault, ...about }) => {
      if (fault === null) log.info(about, 'tokens of an MCP connection were revoked');
      else log.warn({ ...about, fault }, 'tokens of an MCP connection were not revoked');
    },
  });
}
