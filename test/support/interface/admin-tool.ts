/** Runs a third-party admin tool: an unmodified program that offers the Admin API over MCP. */
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export interface AdminTool extends AsyncDisposable {
  /** Names of all its tools. */
  readonly offered: readonly string[];
  /** Names of the tools that were called. */
  readonly used: ReadonlySet<string>;
  /** Calls a tool and returns its result; throws its error. */
  use(name: string, given?: Record<string, unknown>): Promise<ReturnType<typeof JSON.parse>>;
}

/** Starts it with one credential, which it sends as an API key, and the v1 URL. */
export async function startAdminTool(url: string, credential: string): Promise<AdminTool> {
  const program = fileURLToPath(import.meta.resolve('portkey-admin-mcp'));
  const env = {
    PORTKEY_API_KEY: credential,
    PORTKEY_BASE_URL: `${url}/v1`,
    PORTKEY_ALLOW_PRIVATE_BASE_URL: 'true',
    PORTKEY_ALLOW_INSECURE_HTTP: 'true',
  };
  const client = new Client({ name: 'operator', version: '1.0.0' });
  const started = { command: process.execPath, args: [program], env, stderr: 'ignore' as const };
  await client.connect(new StdioClientTransport(started));
  const { tools } = await client.listTools();
  const used = new Set<string>();
  return {
    offered: tools.map(({ name }) => name),
    used,
    use: async (name, given = {}) => {
      used.add(name);
      const { content, isError } = await client.callTool({ name, arguments: given });
      const [{ text } = { text: '' }] = content as { text: string }[];
      if (isError === true) throw new Error(`${name}: ${text}`);
      return JSON.parse(text).data;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
