/** Defines what is discovered about an MCP server (its description and capabilities), and how clients report it. */
import { z } from 'zod';
import { ResourceName } from '../wire/resource-fields.ts';
import { McpCapabilityType } from './mcp-integration.ts';

/** Maximum capabilities of one integration in one discovery. */
export const capabilitiesMax = 5000;
/** Maximum stored or mentioned capabilities of an integration. Removed ones stay stored because guardrails may refer to them. */
export const storedCapabilitiesMax = 2 * capabilitiesMax;

const JsonObject = z.record(z.string(), z.unknown());
const text = z.string().nullable().optional();

/** Self-description of a server, as clients of this API send and read it. */
export const McpServerFacts = z.object({
  server_name: text,
  server_version: text,
  protocol_version: text,
  title: text,
  description: text,
  website_url: text,
  icons: z.array(z.unknown()).nullable().optional(),
  /** By capability name, such as `tools`. */
  capability_flags: JsonObject.nullable().optional(),
  instructions: text,
});
export type McpServerFacts = z.infer<typeof McpServerFacts>;

/** Description of one capability. */
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

/** A capability reported by a client that queried the server itself, in the spelling of MCP or of this API. */
const PushedCapability = McpCapabilityFacts.extend({
  name: ResourceName,
  type: McpCapabilityType,
  inputSchema: JsonObject.nullable().optional(),
  outputSchema: JsonObject.nullable().optional(),
  uriTemplate: text,
  mimeType: text,
  /** Input schema of a tool. */
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

/** Returns the discovery in the body; undefined if it contains none, so that the server must be queried. */
export function readPushedDiscovery({
  server_info: info,
  capabilities,
}: McpIntegrationSync): Partial<McpDiscovery> | undefined {
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
  return {
    ...facts,
    server_name: name,
    server_version: version,
    capability_flags: capabilities,
  };
}

function pushedCapability(item: z.infer<typeof PushedCapability>): DiscoveredCapability {
  const { name, type, inputSchema, outputSchema, uriTemplate, mimeType, schema, ...rest } = item;
  const { _meta: _, ...facts } = rest;
  return {
    type,
    name,
    facts: {
      ...facts,
      input_schema: facts.input_schema ?? inputSchema ?? schema,
      output_schema: facts.output_schema ?? outputSchema,
      uri_template: facts.uri_template ?? uriTemplate,
      mime_type: facts.mime_type ?? mimeType,
    },
  };
}

export interface DiscoveredCapability {
  readonly type: McpCapabilityType;
  readonly name: string;
  readonly facts: McpCapabilityFacts;
  /** The item of the server's list; absent when a client has reported the facts only. */
  readonly item?: Readonly<Record<string, unknown>>;
}

/** The result of querying a server. */
export interface McpDiscovery {
  readonly server: McpServerFacts;
  /** Null if the capabilities were not queried. */
  readonly capabilities: readonly DiscoveredCapability[] | null;
}

/** Reports that a server could not be queried; the message quotes neither the request nor the response. */
export class McpUnreachableError extends Error {
  override name = 'McpUnreachable';
  /** HTTP status; null without a response. */
  readonly status: number | null;

  constructor(message: string, status: number | null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/**
 * Makes the names of a type unique: resources of the same name get their URI as name. Capabilities
 * without a valid unique name are dropped.
 */
export function withUniqueNames(
  capabilities: readonly DiscoveredCapability[],
): DiscoveredCapability[] {
  const taken = new Set<string>();
  return capabilities.flatMap((capability) => {
    const { type, facts } = capability;
    const names = [capability.name, facts.uri, facts.uri_template];
    const name = names.find(
      (candidate) =>
        ResourceName.safeParse(candidate).success && !taken.has(`${type} ${candidate}`),
    );
    if (name === undefined || name === null) return [];
    taken.add(`${type} ${name}`);
    return [{ ...capability, name }];
  });
}
