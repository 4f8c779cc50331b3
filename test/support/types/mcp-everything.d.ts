/** Knows the part that tests use of `@modelcontextprotocol/server-everything`, which comes without types. */
declare module '@modelcontextprotocol/server-everything/dist/server/index.js' {
  import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';

  /** A server of its own for one session; `cleanup` ends what it does by itself. */
  export function createServer(): {
    readonly server: McpServer;
    readonly cleanup: (sessionId?: string) => void;
  };
}
