/**
 * Declares the part of `@modelcontextprotocol/server-everything` that tests use; the package has no
 * types.
 */
declare module '@modelcontextprotocol/server-everything/dist/server/index.js' {
  import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';

  /** A new server for one session; `cleanup` stops its timers. */
  export function createServer(): {
    readonly server: McpServer;
    readonly cleanup: (sessionId?: string) => void;
  };
}
