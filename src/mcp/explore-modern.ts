/** Queries an MCP server of the modern era for its description and its capabilities. */

import { isObject } from '../model/json/read-object.ts';
import {
  McpServerFacts,
  McpUnreachableError,
  withUniqueNames,
} from '../model/mcp/mcp-discovery.ts';
import { type AskServer, probeEra } from './bridge/probe-era.ts';
import type { ExploredServer, McpTarget } from './explored-server.ts';
import { GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';
import {
  type ListPage,
  type ListSession,
  listCapabilities,
  validFields,
} from './list-capabilities.ts';
import type { ServerDiscovery } from './messages/era-evidence.ts';
import { ResponseFinder } from './messages/find-response.ts';
import { gatewayClient, modernHeaders, modernParams } from './messages/modern-request.ts';
import { postHeaders } from './messages/post-headers.ts';

/** Statuses that servers of the modern era give to errors of JSON-RPC. */
const errorStatuses: ReadonlySet<number> = new Set([400, 404]);

/** Null for a server of another era. @throws McpUnreachableError */
export async function exploreModern(
  target: McpTarget,
  options: Omit<GuardedFetchOptions, 'headers'>,
  wantsLists: boolean,
): Promise<ExploredServer | null> {
  const { headers } = target;
  using guarded = new GuardedFetch({ ...options, headers, readStatuses: errorStatuses });
  const session = new ModernSession(guarded, target.url);
  try {
    const { discovery, version } = await probeEra(session.ask);
    if (discovery === null || version === null) return null;
    const { capabilities } = discovery;
    const listed = wantsLists ? await listCapabilities(session, capabilities) : null;
    const { status } = guarded;
    const server = factsOf(discovery, version);
    return { server, capabilities: listed && withUniqueNames(listed), status };
  } catch (error) {
    if (guarded.failure !== null) throw guarded.failure;
    if (error instanceof McpUnreachableError) throw error;
    const text = 'the response of the server is not valid MCP';
    throw new McpUnreachableError(text, guarded.status, { cause: error });
  }
}

function factsOf({ capabilities, info, instructions }: ServerDiscovery, version: string) {
  return validFields(McpServerFacts, {
    server_name: info.name,
    server_version: info.version,
    protocol_version: version,
    title: info.title,
    description: info.description,
    icons: info.icons,
    website_url: info.websiteUrl,
    capability_flags: capabilities,
    instructions,
  });
}

class ModernSession implements ListSession {
  readonly #guarded: GuardedFetch;
  readonly #url: string;
  #count = 0;

  constructor(guarded: GuardedFetch, url: string) {
    this.#guarded = guarded;
    this.#url = url;
  }

  get status(): number | null {
    return this.#guarded.status;
  }

  readonly ask: AskServer = async (protocol, message) => {
    const response = await this.#guarded.fetch(this.#url, {
      method: 'POST',
      headers: { ...protocol, ...postHeaders },
      body: JSON.stringify(message),
    });
    const type = response.headers.get('content-type') ?? '';
    const finder = new ResponseFinder(type, message.id, Number.POSITIVE_INFINITY);
    for await (const chunk of response.body ?? []) {
      const found = finder.push(Buffer.from(chunk));
      if (found !== null) return { status: response.status, message: found };
    }
    return { status: response.status, message: finder.end() };
  };

  /** A page, or the code with which the server rejects the request. */
  async request(method: string, cursor: { readonly cursor?: string }): Promise<ListPage> {
    this.#count += 1;
    const params = modernParams(cursor, gatewayClient);
    const headers = modernHeaders(method, params, gatewayClient.version);
    const id = `list-${this.#count}`;
    const { message } = await this.ask(headers, { jsonrpc: '2.0', id, method, params });
    if (isObject(message) && isObject(message.result)) return message.result;
    const error = isObject(message) && isObject(message.error) ? message.error : {};
    return { rejectedWith: error.code };
  }
}
