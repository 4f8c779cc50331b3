/** Creates the clients that call MCP servers, administrator-defined URLs and providers for the Admin API and jobs. */
import type { AdminDeps } from '../admin/request/deps.ts';
import type { Keyring } from '../auth/keyring.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { McpCaller } from '../mcp/mcp-caller.ts';
import { packageVersion } from '../package-root.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { Origins } from '../upstream/origins.ts';
import { Outbound } from '../upstream/outbound.ts';
import type { CountedRows } from './counted-rows.ts';
import { createProviderLists } from './provider-lists.ts';

/** Dispose closes its sockets. */
export interface OutboundClients extends Pick<AdminDeps, 'mcp' | 'outbound'>, AsyncDisposable {
  /** Lists the objects that providers store. */
  readonly lists: ReturnType<typeof createProviderLists>;
}

export function createOutboundClients(parts: {
  readonly settings: Settings;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  readonly noteSecretRead: CountedRows['noteSecretRead'];
}): OutboundClients {
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
  return {
    lists,
    mcp,
    outbound: new Outbound(origins, trusted),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([mcp, origins, lists].map((one) => one[Symbol.asyncDispose]()));
    },
  };
}
