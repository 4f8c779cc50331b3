/** Knows what an MCP server says of itself and of what it offers: which of it is taken, and in which form it is kept. */
import { z } from 'zod';
import { McpCapabilityType } from './mcp-integration.ts';
import { ResourceName } from '../wire/resource-fields.ts';

/** Of one integration; more than any server offers. */
export const capabilitiesMax = 5000;
/** That an integration is known to have, or that a server speaks of: those that are offered no more stay, because guardrails may name them. */
export const capabilitiesKeptMax = 2 * capabilitiesMax;

const JsonObject = z.record(z.string(), z.unknown());
const text = z.string().nullable().optional();

/** What a server says of itself, as clients of this API send and read it. */
export const McpServerFacts = z.object({
  server_name: text,
  server_version: text,
  protocol_version: text,
  title: text,
  description: text,
  website_url: text,
  icons: z.array(z.unknown()).nullable().optional(),
  /** By name of what it can do, such as `tools`. */
  capability_flags: JsonObject.nullable().optional(),
  instructions: text,
});
export type McpServerFacts = z.infer<typeof McpServerFacts>;

/** What a server says of one capability. */
export const McpCapabilityFacts = z.object({
  title: text,
  description: text,
  icons: z.array(z.unknown()).nullable().optional(),
  input_schema: JsonObject.nullable().optional(),
  output_schema: JsonObject.nullable().optional(),
  execution: JsonObject.nullable().optional(),
  annotations: JsonObject.nullable().optional(),
  arguments: z.array(z.unknown()).nullable().optional(),
  uri: text,
  uri_template: text,
  mime_type: text,
  size: z.number().nullable().optional(),
});
export type McpCapabilityFacts = z.infer<typeof McpCapabilityFacts>;

/** One as clients send it who have asked the server themselves, in the spelling of MCP or in that of this API. */
const PushedCapability = McpCapabilityFacts.extend({
  name: ResourceName,
  type: McpCapabilityType,
  inputSchema: JsonObject.nullable().optional(),
  outputSchema: JsonObject.nullable().optional(),
  uriTemplate: text,
  mimeType: text,
  /** What a tool takes. */
  schema: JsonObject.nullable().optional(),
  _meta: JsonObject.nullable().optional(),
});
const PushedCapabilities = z.array(PushedCapability).max(capabilitiesMax);

/** Body of POST /mcp-integrations/{id}/sync. */
export const McpIntegrationSync = z.object({
  server_info: McpServerFacts.omit({
    server_name: true,
    server_version: true,
    capability_flags: true,
  })
    .extend({ name: text, version: text, capabilities: JsonObject.nullable().optional() })
    .optional(),
  capabilities: PushedCapabilities.optional(),
});
export type McpIntegrationSync = z.infer<typeof McpIntegrationSync>;

/** Body of POST /mcp-servers/{id}/capabilities/sync. */
export const McpCapabilitiesSync = z.object({ capabilities: PushedCapabilities.optional() });

/** What a client has found out; undefined where it says nothing, and the server is to be asked. */
export function pushedFound({
  server_info: info,
  capabilities,
}: McpIntegrationSync): Partial<McpFound> | undefined {
  if (info === undefined && capabilities === undefined) return undefined;
  return {
    ...(info && { server: pushedServer(info) }),
    ...(capabilities && { capabilities: capabilities.map(pushedCapability) }),
  };
}

function pushedServer({
  name,
  version,
  capabilities,
  ...facts
}: NonNullable<McpIntegrationSync['server_info']>): McpServerFacts {
  const flags = { capability_flags: capabilities };
  return { ...facts, server_name: name, server_version: version, ...flags };
}

function pushedCapability(sent: z.infer<typeof PushedCapability>): FoundCapability {
  const { name, type, inputSchema, outputSchema, uriTemplate, mimeType, schema, ...rest } = sent;
  const { _meta: _, ...facts } = rest;
  return {
    ...{ type, name },
    facts: {
      ...facts,
      input_schema: facts.input_schema ?? inputSchema ?? schema,
      output_schema: facts.output_schema ?? outputSchema,
      uri_template: facts.uri_template ?? uriTemplate,
      mime_type: facts.mime_type ?? mimeType,
    },
  };
}

export interface FoundCapability {
  readonly type: McpCapabilityType;
  readonly name: string;
  readonly facts: McpCapabilityFacts;
}

/** What was found out about a server. */
export interface McpFound {
  readonly server: McpServerFacts;
  /** Null where it was not asked for them. */
  readonly capabilities: readonly FoundCapability[] | null;
}

/** Why a server could not be asked; nothing in it quotes what was sent, or what it said. */
export class McpUnreachable extends Error {
  override name = 'McpUnreachable';
  /** Of HTTP; null where there was none. */
  readonly status: number | null;

  constructor(message: string, status: number | null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Names as they are kept: resources of one name are told by their addresses. What has none that fits is left out. */
export function namedApart(found: readonly FoundCapability[]): FoundCapability[] {
  const taken = new Set<string>();
  return found.flatMap((one) => {
    const { type, facts } = one;
    const names = [one.name, facts.uri, facts.uri_template];
    const name = names.find(
      (given) => ResourceName.safeParse(given).success && !taken.has(`${type} ${given}`),
    );
    if (name === undefined || name === null) return [];
    taken.add(`${type} ${name}`);
    return [{ ...one, name }];
  });
}
