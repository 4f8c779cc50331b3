/** Knows what the API tells about a capability of an MCP integration or server, and how lists of them are put. */
import { z } from 'zod';
import type { McpCapabilityFacts } from '../../model/mcp/mcp-discovery.ts';
import { type McpCapabilitiesPut, McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import type { Fault } from '../../model/wire/fault.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { type Page, wholeNumberParameter } from '../../model/wire/paging.ts';
import { StreamedList } from '../../model/wire/streamed-list.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../../model/wire/timestamp.ts';
import type { StoredMcpCapability } from '../../store/mcp/mcp-capabilities.ts';
import type { ServerCapability } from '../../store/mcp/mcp-server-capabilities.ts';
import { WorkspaceQuery } from '../request/frame-fields.ts';
import { CapabilityCounts } from './mcp-capability-counts.ts';

const pageSizeMax = 500;

export const CapabilityQuery = WorkspaceQuery.extend({
  type: McpCapabilityType.optional(),
  /** Counted from 1, unlike other lists (docs/reference/api.md, Paging). */
  page: wholeNumberParameter(1, 1_000_000).default(1),
  page_size: wholeNumberParameter(1, pageSizeMax).default(100),
});

export const CapabilityReceipt = z.object({ success: z.literal(true) });

const JsonObject = z.record(z.string(), z.unknown());
const shape = {
  /** Null where a server says something of what its integration does not know. */
  id: z.uuid().nullable(),
  name: z.string(),
  type: McpCapabilityType,
  enabled: z.boolean(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  /** When the server last offered it. */
  last_seen_at: ResponseTimestamp.nullable(),
  /** From here on what the server says of it. */
  title: z.string().nullable(),
  description: z.string().nullable(),
  icons: z.array(z.unknown()).nullable(),
  input_schema: JsonObject.nullable(),
  output_schema: JsonObject.nullable(),
  execution: JsonObject.nullable(),
  annotations: JsonObject.nullable(),
  arguments: z.array(z.unknown()).nullable(),
  uri: z.string().nullable(),
  uri_template: z.string().nullable(),
  mime_type: z.string().nullable(),
  size: z.number().nullable(),
  object: z.literal('mcp-capability'),
};
const Capability = z.object(shape);
const ServedCapability = z.object({
  ...shape,
  /** Null where the integration does not know it. */
  integration_enabled: z.boolean().nullable(),
});

function listOfThem<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    total: z.int().min(0),
    has_more: z.boolean(),
    counts: CapabilityCounts,
  });
}
export const CapabilityList = listOfThem(Capability);
export const ServedCapabilityList = listOfThem(ServedCapability);

/** The rows that a query asks for. */
export function toCapabilityPage(query: z.infer<typeof CapabilityQuery>): Page {
  return { limit: query.page_size, offset: query.page_size * (query.page - 1) };
}

export function capabilityReply<T>(
  data: Iterable<T>,
  found: { readonly length: number; readonly total: number },
  page: Page,
  counts: z.infer<typeof CapabilityCounts>,
) {
  const { total } = found;
  const has_more = page.offset + found.length < total;
  return new StreamedList<{
    object: 'list';
    data: T[];
    total: number;
    has_more: boolean;
    counts: z.infer<typeof CapabilityCounts>;
  }>({ object: 'list' }, 'data', data, { total, has_more, counts });
}

export function repeatedFaults(capabilities: McpCapabilitiesPut['capabilities']): Fault[] {
  const seen = new Set<string>();
  return capabilities.flatMap((capability, at) => {
    const identity = identityOf(capability);
    if (seen.has(identity)) return [{ path: ['capabilities', at], message: 'is named twice' }];
    seen.add(identity);
    return [];
  });
}

/** One text for one capability. */
export function identityOf({
  type,
  name,
}: {
  readonly type: string;
  readonly name: string;
}): string {
  return `${type} ${name}`;
}

export function toRecord(row: StoredMcpCapability | ServerCapability): z.infer<typeof Capability> {
  const known = 'id' in row ? row : null;
  const facts = readDocument<McpCapabilityFacts>(known?.facts ?? null);
  return {
    id: known?.id ?? null,
    name: row.name,
    type: row.type,
    enabled: row.enabled !== 0,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    last_seen_at: formatTimestampOrNull(known?.last_seen_at ?? null),
    title: facts?.title ?? null,
    description: facts?.description ?? null,
    icons: facts?.icons ?? null,
    input_schema: facts?.input_schema ?? null,
    output_schema: facts?.output_schema ?? null,
    execution: facts?.execution ?? null,
    annotations: facts?.annotations ?? null,
    arguments: facts?.arguments ?? null,
    uri: facts?.uri ?? null,
    uri_template: facts?.uri_template ?? null,
    mime_type: facts?.mime_type ?? null,
    size: facts?.size ?? null,
    object: 'mcp-capability',
  };
}

/** `said` is what the server itself says of it, undefined for nothing. */
export function toServedRecord(
  row: StoredMcpCapability,
  said: ServerCapability | undefined,
): z.infer<typeof ServedCapability> {
  return {
    ...toRecord(row),
    enabled: said === undefined || said.enabled !== 0,
    integration_enabled: row.enabled !== 0,
  };
}

export function toUnknownRecord(row: ServerCapability): z.infer<typeof ServedCapability> {
  return { ...toRecord(row), integration_enabled: null };
}
