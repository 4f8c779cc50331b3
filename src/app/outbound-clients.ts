/** Creates the clients that call MCP servers, administrator-defined URLs and providers for the Admin API and jobs. */
import type { AdminDeps } from '../admin/request/deps.ts';
import type { Keyring } from '../auth/keyring.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { createTokenRevocations } from '../mcp/create-token-revocations.ts';
import { McpCaller } from '../mcp/mcp-caller.ts';
import { packageVersion } from '../package-root.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';
import { Origins } from '../upstream/origins.ts';
import { Outbound } from '../upstream/outbound.ts';
import type { CountedRows } from './counted-rows.ts';
import { createGuardrailTrials } from './guardrail-trials.ts';
import { createProviderLists } from './provider-lists.ts';

/** Dispose closes its sockets. */
export interface OutboundClients
  extends Pick<AdminDeps, 'guardrailTrials' | 'mcp' | 'mcpTokens' | 'outbound'>,
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
  const shared = {
    database,
    keyring,
    clock,
    trusted,
    allowsOwnIdentity: inference.signsInAsItself,
    onSecretRead: (place: Parameters<CountedRows['noteSecretRead']>[0]) =>
      noteSecretRead(place, 'mcp'),
  };
  const mcp = new McpCaller({
    ...shared,
    mockUpstreamHost: inference.mockUpstreamHost,
    version: packageVersion(),
  });
  const lists = createProviderLists({ ...parts, unsealerOf: keyring.unsealerOf });
  const outbound = new Outbound(origins, trusted);
  const guardrailTrials = createGuardrailTrials(outbound);
  const mcpTokens = createTokenRevocations({
    ...shared,
    outbound,
    publicUrl: settings.mcp.publicUrl,
    // Nobody waits for the result.
    onResult: ({ fault, ...about }) => {
      if (fault === null) parts.log.info(about, 'tokens of an MCP connection were revoked');
      else parts.log.warn({ ...about, fault }, 'tokens of an MCP connection were not revoked');
    },
  });
  return {
    guardrailTrials,
    lists,
    mcp,
    mcpTokens,
    outbound,
    [Symbol.asyncDispose]: async () => {
      guardrailTrials[Symbol.dispose]();
      await Promise.all([mcp, mcpTokens, lists].map((one) => one[Symbol.asyncDispose]()));
      await origins[Symbol.asyncDispose]();
    },
  };
}
