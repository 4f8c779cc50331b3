/** Defines the bodies that assign guardrails to MCP servers, and compares assignments. */
import { z } from 'zod';
import { described } from '../wire/described.ts';

const serversMax = 1000;
const capabilitiesMax = 1000;

/** `beforeToolCall` is a synonym of `input`, `afterToolCall` of `output`; each is stored as sent. */
const RunOn = z.enum(['input', 'output', 'beforeToolCall', 'afterToolCall']);

const CapabilityIds = z.array(z.uuid()).max(capabilitiesMax);

/**
 * Body of PUT /guardrails/{id}/mcp-servers/{mcpServerId}, and one entry of the bulk sync. The guardrail
 * runs on input and output by default, and on all capabilities of the server. `capability_ids` is the
 * name of the capabilities in responses and is accepted as well.
 */
export const GuardrailMappingPut = z.object({
  run_on: described(
    z.array(RunOn).min(1).max(4).optional(),
    'When the guardrail runs: before a tool call (input), after it (output), or both.',
    { default: ['input', 'output'] },
  ),
  mcp_integration_capability_ids: described(
    CapabilityIds.optional(),
    'Guarded capabilities of the integration, by UUID; all if omitted.',
    { examples: [['018f2f0e-5a70-7c3e-9d0a-2f2b8c1d4e5f']] },
  ),
  capability_ids: CapabilityIds.optional(),
});
export type GuardrailMappingPut = z.infer<typeof GuardrailMappingPut>;

function resourceReference(): z.ZodString {
  return z.string().min(1).max(255);
}

/** Schema of a manifest's spec: the guardrail and the server, which are path values, and the body. */
export function makeGuardrailMappingSpec(): z.ZodObject {
  return GuardrailMappingPut.omit({ capability_ids: true })
    .extend({
      guardrail_id: described(resourceReference(), 'The guardrail, by UUID or slug.'),
      mcp_server_id: described(resourceReference(), 'The guarded MCP server, by UUID or slug.'),
    })
    .strict();
}

/** Body of PUT /guardrails/{id}/mcp-servers: every server of the guardrail, by id; others are unassigned. */
export const GuardrailMappingSync = z.object({
  mcp_servers: z
    .record(z.string().min(1).max(255), GuardrailMappingPut)
    .refine((servers) => Object.keys(servers).length <= serversMax, {
      message: `must name at most ${serversMax} servers`,
    }),
});
export type GuardrailMappingSync = z.infer<typeof GuardrailMappingSync>;

/** The content of an assignment with defaults filled in. */
export interface MappingContent {
  readonly runOn: readonly string[];
  readonly capabilityIds: readonly string[];
}

const defaultRunOn: readonly z.infer<typeof RunOn>[] = ['input', 'output'];

/** Removes duplicates and converts ids to lower case. */
export function readMappingContent(put: GuardrailMappingPut): MappingContent {
  const ids = put.mcp_integration_capability_ids ?? put.capability_ids ?? [];
  return {
    runOn: [...new Set(put.run_on ?? defaultRunOn)],
    capabilityIds: [...new Set(ids.map((id) => id.toLowerCase()))],
  };
}

/** Compares both lists regardless of order. */
export function isSameMapping(one: MappingContent, other: MappingContent): boolean {
  return sameSet(one.runOn, other.runOn) && sameSet(one.capabilityIds, other.capabilityIds);
}

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  const members = new Set(one);
  return members.size === new Set(other).size && other.every((member) => members.has(member));
}
