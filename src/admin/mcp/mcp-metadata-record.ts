/** Converts the metadata that an MCP server has reported to API records. */
import { z } from 'zod';
import type { McpServerFacts } from '../../model/mcp/mcp-discovery.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { formatTimestampOrNull, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import type { StoredMcpMetadata } from '../../store/mcp/mcp-metadata.ts';
import type { CapabilityCounts } from './mcp-capability-counts.ts';

const shape = {
  server_name: z.string(),
  server_version: z.string(),
  title: z.string().nullable(),
  description: z.string().nullable(),
  icons: z.array(z.unknown()).nullable(),
  protocol_version: z.string().nullable(),
  sync_status: z.enum(['pending', 'synced', 'failed']),
  last_synced_at: ResponseTimestamp.nullable(),
};

/** Part of the items in lists of servers. */
export const ShortMetadata = z.object(shape);

export const McpMetadata = z.object({
  ...shape,
  website_url: z.string().nullable(),
  /** By name of the capability. */
  capability_flags: z.record(z.string(), z.unknown()),
  instructions: z.string().nullable(),
  sync_error: z.string().nullable(),
  object: z.literal('mcp-metadata'),
});

export function mcpMetadataToShortMetadata(
  row: StoredMcpMetadata | undefined,
): z.infer<typeof ShortMetadata> {
  const facts = factsOf(row);
  return {
    server_name: facts.server_name ?? '',
    server_version: facts.server_version ?? '',
    title: facts.title ?? null,
    description: facts.description ?? null,
    icons: facts.icons ?? null,
    protocol_version: facts.protocol_version ?? null,
    sync_status: row?.sync_status ?? 'pending',
    last_synced_at: formatTimestampOrNull(row?.last_synced_at ?? null),
  };
}

/** `counts` give the capabilities when the server has reported none. */
export function mcpMetadataToMetadata(
  row: StoredMcpMetadata | undefined,
  counts: CapabilityCounts,
): z.infer<typeof McpMetadata> {
  const facts = factsOf(row);
  return {
    ...mcpMetadataToShortMetadata(row),
    website_url: facts.website_url ?? null,
    capability_flags: facts.capability_flags ?? {
      tools: counts.tools.total > 0,
      prompts: counts.prompts.total > 0,
      resources: counts.resources.total > 0,
    },
    instructions: facts.instructions ?? null,
    sync_error: row?.sync_error ?? null,
    object: 'mcp-metadata',
  };
}

function factsOf(row: StoredMcpMetadata | undefined): McpServerFacts {
  return readDocument<McpServerFacts>(row?.facts ?? null) ?? {};
}
