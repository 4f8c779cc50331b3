/** Checks that a reference stays within its workspace and names a guardrail of the right target. */
import { guardrailTargetAt } from '../../model/kinds/guardrail-names.ts';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { Identity } from '../resources/resource-set.ts';
import type { Segments } from '../yaml/yaml-position.ts';

/** The relevant properties of a reference's target. */
export interface ReferenceTarget {
  readonly identity: Identity;
  /** The target of a declared Guardrail; undefined for other kinds. */
  readonly target?: unknown;
}

export interface ReachFault {
  readonly message: string;
  readonly fix: string;
}

/**
 * Kinds whose references stay within their workspace, and whether organisation-level ones are also
 * bound.
 */
const bound: Partial<Record<KindName, 'always' | 'in-a-workspace'>> = {
  Config: 'always',
  ApiKey: 'in-a-workspace',
  McpServer: 'always',
  Provider: 'always',
  Prompt: 'always',
  PromptCollection: 'always',
  OrganisationDefaults: 'always',
  WorkspaceGuardrails: 'always',
};

/**
 * Returns why a resource may not refer to another under the server's rules; undefined if it may.
 */
export function reachFault(
  from: Identity,
  { identity: to }: ReferenceTarget,
): ReachFault | undefined {
  const rule = to.kind === 'Workspace' ? undefined : bound[from.kind];
  const isFree = rule === undefined || (rule === 'in-a-workspace' && from.workspace === null);
  if (isFree || to.workspace === null || to.workspace === from.workspace) return undefined;
  return {
    message: `${to.kind} "${to.name}" belongs to workspace ${to.workspace}, which this ${from.kind} does not`,
    fix: 'name one of the same workspace, or of the organisation',
  };
}

/** Returns why a guardrail judges other requests than those of the list that refers to it. */
export function targetFault(
  { kind }: Identity,
  written: Segments,
  { identity, target }: ReferenceTarget,
): ReachFault | undefined {
  if (identity.kind !== 'Guardrail' || target === undefined) return undefined;
  const wanted = guardrailTargetAt(kind, written);
  if (target === wanted) return undefined;
  const judged = target === 'mcp_tools' ? 'calls of MCP tools' : 'LLM requests';
  return {
    message: `Guardrail "${identity.name}" judges ${judged} only`,
    fix: `name one with target: ${wanted}`,
  };
}

/** Like {@link reachFault}, for the two resources that a binding connects. */
export function bindingFault(
  guardrail: ReferenceTarget,
  server: ReferenceTarget,
): ReachFault | undefined {
  const { workspace } = guardrail.identity;
  if (workspace === null || workspace === server.identity.workspace) return undefined;
  return {
    message: `Guardrail "${guardrail.identity.name}" belongs to workspace ${workspace}, the server to another`,
    fix: 'name a guardrail of the same workspace, or of the organisation',
  };
}
