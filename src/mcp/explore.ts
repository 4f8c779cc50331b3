/** Queries an MCP server for its description and its capabilities, with the client of the MCP SDK. */
import {
  Client,
  ProtocolError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import {
  McpServerFacts,
  McpUnreachableError,
  withUniqueNames,
} from '../model/mcp/mcp-discovery.ts';
import { monotonicMs } from '../monotonic.ts';
import { exploreModern } from './explore-modern.ts';
import type { ExploredServer, McpTarget } from './explored-server.ts';
import { GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';
import {
  type ListPage,
  type ListSession,
  listCapabilities,
  validFields,
} from './list-capabilities.ts';

/** Statuses with which servers of the modern era refuse `initialize`. */
const refusals: ReadonlySet<number | null> = new Set([400, 404, 405, 406, 422]);

/** @param wantsLists whether to query the capabilities too @throws McpUnreachableError */
export async function explore(
  target: McpTarget,
  options: Omit<GuardedFetchOptions, 'headers'>,
  clientVersion: string,
  wantsLists: boolean,
): Promise<ExploredServer> {
  const beganMs = monotonicMs();
  try {
    return await exploreLegacy(target, options, clientVersion, wantsLists);
  } catch (error) {
    const mayBeModern =
      target.transport !== 'sse' &&
      error instanceof McpUnreachableError &&
      refusals.has(error.status);
    const timeoutMs = options.timeoutMs - (monotonicMs() - beganMs);
    if (!mayBeModern || timeoutMs <= 0) throw error;
    const explored = await exploreModern(target, { ...options, timeoutMs }, wantsLists);
    if (explored === null) throw error;
    return explored;
  }
}

async function exploreLegacy(
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
    const listed = wantsLists
      ? await listCapabilities(session, server.capability_flags ?? {})
      : null;
    const { status } = guarded;
    if (transport instanceof StreamableHTTPClientTransport) {
      // The server need not support the end of sessions.
      await transport.terminateSession().catch(() => undefined);
    }
    return { server, capabilities: listed && withUniqueNames(listed), status };
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

/** Checks no items: one invalid item must not discard the others, and the SDK's schemas are strict. */
const Page = z.looseObject({ nextCursor: z.unknown().optional() });

class Session implements ListSession {
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

  get status(): number | null {
    return this.#guarded.status;
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

  async close(): Promise<void> {
    await this.#client.close().catch(() => undefined);
  }

  /** A page, or the code with which the server rejects the request. */
  async request(method: string, params: { readonly cursor?: string }): Promise<ListPage> {
    try {
      return await this.#client.request({ method, params }, Page, this.#requestOptions);
    } catch (error) {
      if (!(error instanceof ProtocolError) || this.#guarded.failure !== null) throw error;
      return { rejectedWith: error.code };
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
}
