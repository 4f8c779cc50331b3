/** Knows how an MCP server is asked who it is and what it offers. */
import { z } from 'zod';
import {
  capabilitiesMax,
  type FoundCapability,
  McpCapabilityFacts,
  type McpFound,
  McpServerFacts,
  namedApart,
} from '../model/mcp-found.ts';
import type { McpCapabilityType } from '../model/mcp-integration.ts';
import { BoundedCalls, type CallMeans } from './bounded-calls.ts';
import { HttpWire } from './http-wire.ts';
import { noticeText, requestText } from './messages.ts';
import { SseWire } from './sse-wire.ts';
import type { Wire } from './wire.ts';

/** How a server is reached. */
export interface McpTarget {
  readonly url: string;
  readonly transport: string;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
}

/** The newest of those that begin with `initialize`. */
const protocolVersion = '2025-11-25';
const pagesMax = 200;

const Initialized = z.object({
  protocolVersion: z.string(),
  capabilities: z.record(z.string(), z.unknown()).optional(),
  serverInfo: z.record(z.string(), z.unknown()).optional(),
  instructions: z.string().optional(),
});

/** By method: under which key the list stands, and what its items are. */
const lists = [
  { flag: 'tools', method: 'tools/list', key: 'tools', type: 'tool' },
  { flag: 'prompts', method: 'prompts/list', key: 'prompts', type: 'prompt' },
  { flag: 'resources', method: 'resources/list', key: 'resources', type: 'resource' },
  {
    ...{ flag: 'resources', method: 'resources/templates/list', key: 'resourceTemplates' },
    type: 'resource_template',
  },
] as const satisfies readonly {
  readonly flag: string;
  readonly method: string;
  readonly key: string;
  readonly type: McpCapabilityType;
}[];

/** `wantsLists`: also what it offers. @throws McpUnreachable */
export async function explore(
  target: McpTarget,
  means: CallMeans,
  clientVersion: string,
  wantsLists: boolean,
): Promise<McpFound & { readonly status: number | null }> {
  using calls = new BoundedCalls(means);
  const conversation = new Conversation(await open(target, calls), calls);
  const server = await conversation.initialize(clientVersion);
  const flags = server.capability_flags ?? {};
  const found: FoundCapability[] = [];
  for (const list of wantsLists ? lists : []) {
    if (flags[list.flag] === undefined) continue;
    found.push(...(await conversation.list(list, found.length)));
  }
  const { status } = calls;
  await conversation.leave();
  return { server, capabilities: wantsLists ? namedApart(found) : null, status };
}

async function open({ url, transport, headers }: McpTarget, calls: BoundedCalls): Promise<Wire> {
  const parsed = new URL(url);
  return transport === 'sse'
    ? SseWire.open(parsed, headers, calls)
    : new HttpWire(parsed, headers, calls);
}

class Conversation {
  readonly #wire: Wire;
  readonly #calls: BoundedCalls;
  #asked = 0;

  constructor(wire: Wire, calls: BoundedCalls) {
    this.#wire = wire;
    this.#calls = calls;
  }

  async initialize(clientVersion: string): Promise<McpServerFacts> {
    const clientInfo = { name: 'gatewright', version: clientVersion };
    const result = await this.#ask('initialize', { protocolVersion, capabilities: {}, clientInfo });
    const { data } = Initialized.safeParse(result);
    if (data === undefined) throw this.#calls.failure('the server does not say who it is');
    this.#wire.protocolVersion = data.protocolVersion;
    await this.#wire.tell(noticeText('notifications/initialized'));
    return serverFacts(data);
  }

  /** All pages of one list; what is no capability in it is left out. */
  async list(
    { method, key, type }: (typeof lists)[number],
    before: number,
  ): Promise<FoundCapability[]> {
    const found: FoundCapability[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.#ask(method, params, type === 'resource_template');
      const items = (page as Record<string, unknown> | null)?.[key];
      if (!Array.isArray(items)) {
        // Servers with resources need not know templates.
        if (type === 'resource_template') return found;
        throw this.#calls.failure(`the server answers ${method} with no list`);
      }
      found.push(...items.flatMap((item) => capabilityOf(type, item)));
      if (before + found.length > capabilitiesMax) {
        throw this.#calls.failure(`the server offers more than ${capabilitiesMax} capabilities`);
      }
      const next = (page as Record<string, unknown>).nextCursor;
      if (typeof next !== 'string') return found;
      cursor = next;
    }
    throw this.#calls.failure(`the list of ${method} has more than ${pagesMax} pages`);
  }

  /** A server that does not care to hear of the end has been asked all the same. */
  async leave(): Promise<void> {
    await this.#wire.leave().catch(() => undefined);
  }

  async #ask(method: string, params: object, mayRefuse = false): Promise<unknown> {
    this.#asked += 1;
    const { result, error } = await this.#wire.ask(
      this.#asked,
      requestText(this.#asked, method, params),
    );
    if (error === undefined) return result ?? null;
    if (mayRefuse) return null;
    throw this.#calls.failure(`the server refuses ${method} with the error ${error.code}`);
  }
}

function serverFacts(said: z.infer<typeof Initialized>): McpServerFacts {
  const { name, version, title, description, websiteUrl, icons } = said.serverInfo ?? {};
  return fitting(McpServerFacts, {
    server_name: name,
    server_version: version,
    protocol_version: said.protocolVersion,
    ...{ title, description, icons },
    website_url: websiteUrl,
    capability_flags: said.capabilities,
    instructions: said.instructions,
  });
}

function capabilityOf(type: McpCapabilityType, item: unknown): FoundCapability[] {
  if (typeof item !== 'object' || item === null) return [];
  const said = item as Record<string, unknown>;
  const facts = fitting(McpCapabilityFacts, {
    ...said,
    input_schema: said.inputSchema,
    output_schema: said.outputSchema,
    uri_template: said.uriTemplate,
    mime_type: said.mimeType,
  });
  const { name } = said;
  return [{ type, name: typeof name === 'string' ? name : '', facts }];
}

/** The fields that are what the schema says; of others it is as if nothing had been said. */
function fitting<S extends z.ZodObject>(schema: S, said: Record<string, unknown>): z.infer<S> {
  const fields = Object.entries(schema.shape).flatMap(([name, field]) => {
    const { data } = (field as z.ZodType).safeParse(said[name]);
    return data === undefined || data === null ? [] : [[name, data] as const];
  });
  return Object.fromEntries(fields) as z.infer<S>;
}
