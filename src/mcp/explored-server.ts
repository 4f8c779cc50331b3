/** Defines which MCP server is queried, and what is learned of it. */
import type { McpDiscovery } from '../model/mcp/mcp-discovery.ts';

/** Address and credentials of a server. */
export interface McpTarget {
  readonly url: string;
  readonly transport: string;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
}

export interface ExploredServer extends McpDiscovery {
  /** HTTP status of the last response. */
  readonly status: number | null;
}
