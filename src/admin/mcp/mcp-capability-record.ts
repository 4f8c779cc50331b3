/** Converts capabilities of MCP integrations and servers to API records and lists. */
import { z } from 'zod';
import type { McpCapabilityFacts } from '../../model/mcp/mcp-discovery.ts';
import { type McpCapabilitiesPut, McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import type { Fault } from '../../model/wire/fault.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { type Page, pageQueryFromOne } from '../../model/wire/paging.ts';
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
  ...pageQueryFromOne(pageSizeMax),
});

export const CapabilityReceipt = z.object({ success: z.literal(true) });

const JsonObject = z.record(z.string(), z.unknown());
const shape = {
  /** Null when only a server has a setting and the integration does not have the capability. */
  id: z.uuid().nullable(),
  name: z.string(),
  type: McpCapabilityType,
  enabled: z.boolean(),
  created_at: ResponseTimestamp,
  last_updated_at: ResponseTimestamp,
  /** Time when the server last offered it. */
  last_seen_at: ResponseTimestamp.nullable(),
  /** Title and the following fields come from the server. */
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
  /** Null when the integration does not have the capability. */
  integration_enabled: z.boolean().nullable(),
});

function capabilityListOf<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    total: z.int().min(0),
    has_more: z.boolean(),
    counts: CapabilityCounts,
  });
}
export const CapabilityList = capabilityListOf(Capability);
export const ServedCapabilityList = capabilityListOf(ServedCapability);

/** Page of a query; pages are counted from 1. */
export function capabilityReply<T>(
  data: Iterable<T>,
  counted: { readonly length: number; readonly total: number },
  page: Page,
  counts: z.infer<typeof CapabilityCounts>,
) {
  const { total } = counted;
  const has_more = page.offset + counted.length < total;
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

/** Unique text of a capability. */
export function identityOf({
  type,
  name,
}: {
  readonly type: string;
  readonly name: string;
}): string {
  return `${type} ${name}`;
}

export function mcpCapabilityToRecord(
  row: StoredMcpCapability | ServerCapability,
): z.infer<typeof Capability> {
  const stored = 'id' in row ? row : null;
  const facts = readDocument<McpCapabilityFacts>(stored?.facts ?? null);
  return {
    id: stored?.id ?? null,
    name: row.name,
    type: row.type,
    enabled: row.enabled !== 0,
    created_at: formatTimestamp(row.created_at),
    last_updated_at: formatTimestamp(row.last_updated_at),
    last_seen_at: formatTimestampOrNull(stored?.last_seen_at ?? null),
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

/** `setting` is the server's own setting, undefined for none. */
export function mcpCapabilityToServedRecord(
  row: StoredMcpCapability,
  setting: ServerCapability | undefined,
): z.infer<typeof ServedCapability> {
  return {
    ...mcpCapabilityToRecord(row),
    enabled: setting === undefined || setting.enabled !== 0,
    integration_enabled: row.enabled !== 0,
  };
}

export function mcpCapabilityToUnknownRecord(
  row: ServerCapability,
): z.infer<typeof ServedCapability> {
  return { ...mcpCapabilityToRecord(row), integration_enabled: null };
}
