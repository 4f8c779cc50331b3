/** Queries an MCP server for its description and its capabilities, with the client of the MCP SDK. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import {
  capabilitiesMax,
  type DiscoveredCapability,
  McpCapabilityFacts,
  type McpDiscovery,
  McpServerFacts,
  McpUnreachableError,
  withUniqueNames,
} from '../model/mcp/mcp-discovery.ts';
import type { McpCapabilityType } from '../model/mcp/mcp-integration.ts';
import { GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';

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

const pagesMax = 200;

/** Capabilities with the method that lists them and the key of the list in its result. */
const lists = [
  { flag: 'tools', method: 'tools/list', key: 'tools', type: 'tool' },
  { flag: 'prompts', method: 'prompts/list', key: 'prompts', type: 'prompt' },
  { flag: 'resources', method: 'resources/list', key: 'resources', type: 'resource' },
  {
    flag: 'resources',
    method: 'resources/templates/list',
    key: 'resourceTemplates',
    type: 'resource_template',
  },
] as const satisfies readonly {
  readonly flag: string;
  readonly method: string;
  readonly key: string;
  readonly type: McpCapabilityType;
}[];

/** Checks no items: one invalid item must not discard the others, and the SDK's schemas are strict. */
const ListPage = z.looseObject({ nextCursor: z.unknown().optional() });

/** @param wantsLists whether to query the capabilities too @throws McpUnreachableError */
export async function explore(
  { url, transport: kind, headers }: McpTarget,
  options: Omit<GuardedFetchOptions, 'headers'>,
  clientVersion: string,
  wantsLists: boolean,
): Promise<ExploredServer> {
  using guarded = new GuardedFetch({ ...options, headers });
  const address = new URL(url);
  const transport =
    kind === 'sse'
      ? new SSEClientTransport(address, { fetch: guarded.fetch })
      : new StreamableHTTPClientTransport(address, { fetch: withoutStream(guarded) });
  const session = new Session(guarded, options.timeoutMs, clientVersion);
  try {
    const server = await session.open(transport);
    const capabilities: DiscoveredCapability[] = [];
    for (const list of wantsLists ? lists : []) {
      if (server.capability_flags?.[list.flag] === undefined) continue;
      capabilities.push(...(await session.list(list, capabilities.length)));
    }
    const { status } = guarded;
    if (transport instanceof StreamableHTTPClientTransport) {
      // The server need not support the end of sessions.
      await transport.terminateSession().catch(() => undefined);
    }
    return { server, capabilities: wantsLists ? withUniqueNames(capabilities) : null, status };
  } catch (error) {
    throw failureOf(error, guarded);
  } finally {
    await session.close();
  }
}

/** Refuses the stream for messages of the server, which a discovery does not need, like a server without one. */
function withoutStream(guarded: GuardedFetch): typeof guarded.fetch {
  return async (url, init) =>
    init?.method === 'GET' ? new Response(null, { status: 405 }) : await guarded.fetch(url, init);
}

function failureOf(error: unknown, { failure, status }: GuardedFetch): McpUnreachableError {
  if (failure !== null) return failure;
  if (error instanceof McpUnreachableError) return error;
  const message = (error as Error).message;
  // The SDK gives this error no type.
  if (message.startsWith('Endpoint origin does not match')) {
    const text = 'the server names a message endpoint outside its own origin';
    return new McpUnreachableError(text, status);
  }
  const text = 'the response of the server is not valid MCP';
  return new McpUnreachableError(text, status, { cause: error });
}

class Session {
  readonly #guarded: GuardedFetch;
  readonly #client: Client;
  readonly #requestOptions: { readonly signal: AbortSignal; readonly timeout: number };

  constructor(guarded: GuardedFetch, timeoutMs: number, version: string) {
    this.#guarded = guarded;
    this.#client = new Client(
      { name: 'gatewright', version },
      {
        // Only calls of tools validate results. The default would load and set up Ajv.
        jsonSchemaValidator: {
          getValidator: () => {
            throw new Error('a discovery calls no tools');
          },
        },
      },
    );
    this.#requestOptions = { signal: guarded.signal, timeout: timeoutMs };
  }

  async open(transport: Transport): Promise<McpServerFacts> {
    let protocolVersion: string | undefined;
    const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (version) => {
      protocolVersion = version;
      setProtocolVersion?.(version);
    };
    await this.#untilFailure(this.#client.connect(transport, this.#requestOptions));
    const { name, version, title, description, websiteUrl, icons } =
      (this.#client.getServerVersion() as Record<string, unknown> | undefined) ?? {};
    return validFields(McpServerFacts, {
      server_name: name,
      server_version: version,
      protocol_version: protocolVersion,
      title,
      description,
      icons,
      website_url: websiteUrl,
      capability_flags: this.#client.getServerCapabilities(),
      instructions: this.#client.getInstructions(),
    });
  }

  /** Reads all pages of one list; items that are not capabilities are dropped. */
  async list(
    { method, key, type }: (typeof lists)[number],
    countBefore: number,
  ): Promise<DiscoveredCapability[]> {
    const capabilities: DiscoveredCapability[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const page = await this.#request(method, cursor === undefined ? {} : { cursor }, type);
      const items = page?.[key];
      if (!Array.isArray(items)) {
        // Servers with resources need not support templates.
        if (type === 'resource_template') return capabilities;
        throw this.#failure(`the server responds to ${method} without a list`);
      }
      capabilities.push(...items.flatMap((item) => capabilityOf(type, item)));
      if (countBefore + capabilities.length > capabilitiesMax) {
        throw this.#failure(`the server offers more than ${capabilitiesMax} capabilities`);
      }
      if (typeof page?.nextCursor !== 'string') return capabilities;
      cursor = page.nextCursor;
    }
    throw this.#failure(`the list of ${method} has more than ${pagesMax} pages`);
  }

  async close(): Promise<void> {
    await this.#client.close().catch(() => undefined);
  }

  /** Null when the server rejects the listing of templates. */
  async #request(
    method: (typeof lists)[number]['method'],
    params: { cursor?: string },
    type: McpCapabilityType,
  ): Promise<Record<string, unknown> | null> {
    try {
      return await this.#client.request({ method, params }, ListPage, this.#requestOptions);
    } catch (error) {
      if (!(error instanceof McpError) || this.#guarded.failure !== null) throw error;
      if (type === 'resource_template') return null;
      throw this.#failure(`the server rejects ${method} with the error ${error.code}`);
    }
  }

  /** The SDK awaits the first event of an SSE stream without a time limit. */
  async #untilFailure<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#guarded;
    const { promise, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    try {
      return await Promise.race([work, promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #failure(message: string): McpUnreachableError {
    return new McpUnreachableError(message, this.#guarded.status);
  }
}

function capabilityOf(type: McpCapabilityType, item: unknown): DiscoveredCapability[] {
  if (typeof item !== 'object' || item === null) return [];
  const fields = item as Record<string, unknown>;
  const facts = validFields(McpCapabilityFacts, {
    ...fields,
    input_schema: fields.inputSchema,
    output_schema: fields.outputSchema,
    uri_template: fields.uriTemplate,
    mime_type: fields.mimeType,
  });
  const { name } = fields;
  return [{ type, name: typeof name === 'string' ? name : '', facts }];
}

/** Returns the fields that match the schema and omits the others. */
function validFields<S extends z.ZodObject>(
  schema: S,
  values: Record<string, unknown>,
): z.infer<S> {
  const fields = Object.entries(schema.shape).flatMap(([name, field]) => {
    const { data } = (field as z.ZodType).safeParse(values[name]);
    return data === undefined || data === null ? [] : [[name, data] as const];
  });
  return Object.fromEntries(fields) as z.infer<S>;
}
