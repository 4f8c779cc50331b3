/** Knows what those who ask MCP servers are given by the process. */
import type { Keyring } from '../auth/keyring.ts';
import type { Clock } from '../clock.ts';
import { McpCaller } from '../mcp/mcp-caller.ts';
import { packageVersion } from '../package-root.ts';
import type { Settings } from '../settings.ts';
import type { Database } from '../store/connection/db.ts';

export function createMcpCaller(parts: {
  readonly settings: Settings;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly clock: Clock;
}): McpCaller {
  const { settings, database, keyring, clock } = parts;
  return new McpCaller({
    ...{ database, keyring, clock, version: packageVersion() },
    trusted: settings.trustedHosts,
    mayBeItself: settings.inference.signsInAsItself,
  });
}
