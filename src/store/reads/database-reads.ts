/** Reads the configuration of gateways from the database. */
import type { Db } from '../connection/db.ts';
import * as dataKeys from '../resources/data-keys.ts';
import * as workspaces from '../resources/workspaces.ts';
import type { ConfigurationReads } from './configuration-reads.ts';
import * as gatewayReads from './gateway-reads.ts';
import { findMcpServer } from './mcp-reads.ts';

/** `requireConnection` throws, like an unreachable database, until the database is verified. */
export function databaseReads(
  readable: Db,
  requireConnection: () => void = () => undefined,
): ConfigurationReads {
  const from =
    <Args extends unknown[], T>(read: (db: Db, ...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      requireConnection();
      return read(readable, ...args);
    };
  return {
    findHolder: from(gatewayReads.findHolder),
    findKey: from(gatewayReads.findKey),
    findTokenWorkspace: from(gatewayReads.findTokenWorkspace),
    findWorkspace: from(workspaces.findByIdOrSlug),
    findConfig: from(gatewayReads.findConfig),
    findGuardrail: from(gatewayReads.findGuardrail),
    listBudgets: from(gatewayReads.listBudgets),
    listPolicies: from(gatewayReads.listGatewayPolicies),
    listProviders: from(gatewayReads.listProviders),
    listSlugsOfProviders: from(gatewayReads.listSlugsOfProviders),
    findPrompt: from(gatewayReads.findPrompt),
    findMcpServer: from(findMcpServer),
    findDataKey: from(dataKeys.find),
  };
}
