/** Knows the bodies by which guardrails are put on MCP servers, and when two mappings mean the same. */
import { z } from 'zod';
import { described } from '../wire/described.ts';

const serversMax = 1000;
const capabilitiesMax = 1000;

/** `beforeToolCall` is another word for `input`, `afterToolCall` for `output`; both are kept as sent. */
const RunOn = z.enum(['input', 'output', 'beforeToolCall', 'afterToolCall']);

const CapabilityIds = z.array(z.uuid()).max(capabilitiesMax);

/**
 * Body of PUT /guardrails/{id}/mcp-servers/{mcpServerId}, and one entry of the bulk sync. Without
 * `run_on` the guardrail runs on input and output; without capabilities on all of the server's.
 * `capability_ids` is the response's name of the same field and is taken too.
 */
export const GuardrailMappingPut = z.object({
  run_on: described(
    z.array(RunOn).min(1).max(4).optional(),
    'When the guardrail runs: before the call of a tool (input), after it (output), or both.',
    { default: ['input', 'output'] },
  ),
  mcp_integration_capability_ids: described(
    CapabilityIds.optional(),
    'Capabilities of the integration that are guarded, by UUID; all when left out.',
    { examples: [['018f2f0e-5a70-7c3e-9d0a-2f2b8c1d4e5f']] },
  ),
  capability_ids: CapabilityIds.optional(),
});
export type GuardrailMappingPut = z.infer<typeof GuardrailMappingPut>;

function end(): z.ZodString {
  return z.string().min(1).max(255);
}

/** What a manifest says of a mapping: its two ends, which are path values, and the body. */
export function makeGuardrailMappingSpec(): z.ZodObject {
  return GuardrailMappingPut.omit({ capability_ids: true })
    .extend({
      guardrail_id: described(end(), 'The guardrail, by UUID or slug.'),
      mcp_server_id: described(end(), 'The MCP server that it is put on, by UUID or slug.'),
    })
    .strict();
}

/** Body of PUT /guardrails/{id}/mcp-servers: every server the guardrail is to be on, by id; the rest go. */
export const GuardrailMappingSync = z.object({
  mcp_servers: z
    .record(z.string().min(1).max(255), GuardrailMappingPut)
    .refine((servers) => Object.keys(servers).length <= serversMax, {
      message: `must name at most ${serversMax} servers`,
    }),
});
export type GuardrailMappingSync = z.infer<typeof GuardrailMappingSync>;

/** A mapping's content once defaults are filled in. */
export interface MappingContent {
  readonly runOn: readonly string[];
  readonly capabilityIds: readonly string[];
}

const defaultRunOn: readonly z.infer<typeof RunOn>[] = ['input', 'output'];

/** Repeats are dropped, ids lower-cased. */
export function contentOf(put: GuardrailMappingPut): MappingContent {
  const ids = put.mcp_integration_capability_ids ?? put.capability_ids ?? [];
  return {
    runOn: [...new Set(put.run_on ?? defaultRunOn)],
    capabilityIds: [...new Set(ids.map((id) => id.toLowerCase()))],
  };
}

/** Order means nothing in either list. */
export function sameContent(one: MappingContent, other: MappingContent): boolean {
  return sameSet(one.runOn, other.runOn) && sameSet(one.capabilityIds, other.capabilityIds);
}

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  const members = new Set(one);
  return members.size === new Set(other).size && other.every((member) => members.has(member));
}
