/** Reads the lists of an MCP server page by page, in either era, and the facts of each capability. */
import type { z } from 'zod';
import {
  capabilitiesMax,
  type DiscoveredCapability,
  McpCapabilityFacts,
  McpUnreachableError,
} from '../model/mcp/mcp-discovery.ts';
import type { McpCapabilityType } from '../model/mcp/mcp-integration.ts';

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

type CapabilityList = (typeof lists)[number];
type ListMethod = CapabilityList['method'];

/** A conversation with a server. */
export interface ListSession {
  /** Resolves to one page; to null when the server rejects the list, with the code of its error. */
  request(method: ListMethod, params: { readonly cursor?: string }): Promise<ListPage>;
  /** HTTP status of the last response. */
  readonly status: number | null;
}

export type ListPage = Readonly<Record<string, unknown>> | { readonly rejectedWith: unknown };

const pagesMax = 200;

/** `flags` are the capabilities that the server declares. @throws McpUnreachableError */
export async function listCapabilities(
  session: ListSession,
  flags: Readonly<Record<string, unknown>>,
): Promise<DiscoveredCapability[]> {
  const capabilities: DiscoveredCapability[] = [];
  for (const list of lists) {
    if (flags[list.flag] === undefined) continue;
    capabilities.push(...(await listPages(session, list, capabilities.length)));
  }
  return capabilities;
}

/** Reads all pages of one list; items that are not capabilities are dropped. */
async function listPages(
  session: ListSession,
  { method, key, type }: CapabilityList,
  countBefore: number,
): Promise<DiscoveredCapability[]> {
  const failure = (message: string) => new McpUnreachableError(message, session.status);
  const capabilities: DiscoveredCapability[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const page = await session.request(method, cursor === undefined ? {} : { cursor });
    const items = 'rejectedWith' in page ? null : page[key];
    if (!Array.isArray(items)) {
      // Servers with resources need not support templates.
      if (type === 'resource_template') return capabilities;
      if ('rejectedWith' in page) {
        throw failure(`the server rejects ${method} with the error ${page.rejectedWith}`);
      }
      throw failure(`the server responds to ${method} without a list`);
    }
    capabilities.push(...items.flatMap((item) => capabilityOf(type, item)));
    if (countBefore + capabilities.length > capabilitiesMax) {
      throw failure(`the server offers more than ${capabilitiesMax} capabilities`);
    }
    const { nextCursor } = page as Readonly<Record<string, unknown>>;
    if (typeof nextCursor !== 'string') return capabilities;
    cursor = nextCursor;
  }
  throw failure(`the list of ${method} has more than ${pagesMax} pages`);
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
  return [{ type, name: typeof name === 'string' ? name : '', facts, item: fields }];
}

/** Returns the fields that match the schema and omits the others. */
export function validFields<Schema extends z.ZodObject>(
  schema: Schema,
  values: Record<string, unknown>,
): z.infer<Schema> {
  const fields = Object.entries(schema.shape).flatMap(([name, field]) => {
    const { data } = (field as z.ZodType).safeParse(values[name]);
    return data === undefined || data === null ? [] : [[name, data] as const];
  });
  return Object.fromEntries(fields) as z.infer<Schema>;
}
