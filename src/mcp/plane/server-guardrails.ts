/** Determines which guardrails judge the tool calls of a server, from their mappings. */
import type { Unsealer } from '../../auth/keyring.ts';
import { guardrailSecretsOf } from '../../auth/secret-documents.ts';
import {
  buildGuardrail,
  type CheckTools,
  type Guardrail,
  isObserving,
} from '../../guardrails/guardrail.ts';
import type { GuardrailActions } from '../../model/guardrails/guardrail.ts';
import type { McpGuardrailRow, McpServerReading } from '../../store/reads/mcp-reads.ts';
import type { NamedCapability } from '../messages/capability-rules.ts';

/** A guardrail with the tools that it judges. */
export interface MappedGuardrail {
  readonly guardrail: Guardrail;
  /** Null for all tools of the server. */
  readonly tools: ReadonlySet<string> | null;
}

export interface ServerGuardrails {
  readonly input: readonly MappedGuardrail[];
  readonly output: readonly MappedGuardrail[];
  /** Prompts and resources that a mapping names, although only tool calls are judged: `prompt x`. */
  readonly unjudged: ReadonlySet<string>;
  /** Why tool calls cannot be judged; null when they can. */
  readonly fault: string | null;
}

const inputNames: ReadonlySet<string> = new Set(['input', 'beforeToolCall']);
const outputNames: ReadonlySet<string> = new Set(['output', 'afterToolCall']);

const nothing: ServerGuardrails = { input: [], output: [], unjudged: new Set(), fault: null };

interface GuardrailParts {
  readonly tools: CheckTools;
  readonly unsealer: Unsealer;
  readonly runsGuardrails: boolean;
}

export function serverGuardrails(
  { mappings, defaults, guardrails, capabilities }: McpServerReading,
  parts: GuardrailParts,
): ServerGuardrails {
  const isJudged = mappings.length + defaults.input.length + defaults.output.length > 0;
  if (!parts.runsGuardrails || !isJudged) return nothing;
  const rows = new Map(guardrails.map((row) => [row.id, row]));
  const named = new Map(capabilities.map((row) => [row.id, row]));
  const input: MappedGuardrail[] = [];
  const output: MappedGuardrail[] = [];
  const unjudged = new Set<string>();
  let fault: string | null = null;
  for (const [names, side] of [
    [defaults.input, input],
    [defaults.output, output],
  ] as const) {
    for (const name of new Set(names)) {
      const row = guardrails.find(({ id, slug }) => id === name.toLowerCase() || slug === name);
      const usable = usableOf(row);
      if (usable !== null) side.push({ guardrail: guardrailOf(usable, parts), tools: null });
      else fault = `the guardrail ${row?.slug ?? name} is not active for MCP tools`;
    }
  }
  for (const mapping of mappings) {
    const found = rows.get(mapping.guardrail_id);
    const row = usableOf(found);
    if (row === null) {
      fault = `the guardrail ${found?.slug ?? mapping.guardrail_id} is not active for MCP tools`;
      continue;
    }
    const ids = JSON.parse(mapping.capability_ids) as readonly string[];
    const mapped = ids.map((id) => named.get(id));
    if (mapped.includes(undefined)) fault = `the guardrail ${row.slug} names an unknown capability`;
    const toolNames: string[] = [];
    for (const one of mapped) {
      if (one?.type === 'tool') toolNames.push(one.name);
      else if (one !== undefined)
        unjudged.add(`${one.type} ${one.name}`).add(`resource ${one.uri}`);
    }
    const one: MappedGuardrail = {
      guardrail: guardrailOf(row, parts),
      tools: ids.length === 0 ? null : new Set(toolNames),
    };
    const runOn = JSON.parse(mapping.run_on) as readonly string[];
    // A mapping that names both synonyms runs once.
    if (runOn.some((name) => inputNames.has(name))) input.push(one);
    if (runOn.some((name) => outputNames.has(name))) output.push(one);
  }
  return { input, output, unjudged, fault };
}

function usableOf(row: McpGuardrailRow | undefined): McpGuardrailRow | null {
  return row?.status === 'active' && row.target === 'mcp_tools' ? row : null;
}

function guardrailOf(row: McpGuardrailRow, { tools, unsealer }: GuardrailParts): Guardrail {
  const stored = { checks: JSON.parse(row.checks) as [] };
  const definition = {
    id: row.slug,
    savedId: row.id,
    checks: guardrailSecretsOf.open(unsealer, row.id, stored).checks as [],
    actions: JSON.parse(row.actions ?? '{}') as GuardrailActions,
  };
  return buildGuardrail(definition, tools);
}

/** The guardrails that judge a tool; those of every tool when the tool is unknown. */
export function guardrailsFor(
  mapped: readonly MappedGuardrail[],
  tool: string | null,
): readonly Guardrail[] {
  if (mapped.length === 0) return [];
  return mapped
    .filter(({ tools }) => tools === null || tool === null || tools.has(tool))
    .map(({ guardrail }) => guardrail);
}

/** The guardrail of all tools that fails closed, so that nothing may pass unjudged; null for none. */
export function closedGuardrail({ input, output }: ServerGuardrails): Guardrail | null {
  const closed = [...input, ...output].find(
    ({ guardrail, tools }) => tools === null && guardrail.failsClosed && !isObserving(guardrail),
  );
  return closed?.guardrail ?? null;
}

/** Whether a mapping names this prompt or resource, whose content is not judged. */
export function isUnjudged({ unjudged }: ServerGuardrails, named: NamedCapability): boolean {
  if (unjudged.size === 0 || named.type === 'tool') return false;
  if (unjudged.has(`${named.type} ${named.name}`)) return true;
  // A template may cover any address.
  return (
    named.type === 'resource' && [...unjudged].some((one) => one.startsWith('resource_template'))
  );
}
