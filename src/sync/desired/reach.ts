/** Knows what a resource may refer to: nothing that only another workspace has, and guardrails of the right sort. */
import type { KindName } from '../../model/kinds/kinds.ts';
import type { Identity } from '../resources/resource-set.ts';

/** What a reference leads to, as far as it matters here. */
export interface Reached {
  readonly identity: Identity;
  /** Of a Guardrail that is declared; undefined of all else. */
  readonly target?: unknown;
}

export interface ReachFault {
  readonly message: string;
  readonly fix: string;
}

/** Kinds whose references stay within their workspace, and whether those of the organisation do within it. */
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

/** Why a resource may not refer to another, in the server's rules; undefined when it may. */
export function reachFault(from: Identity, { identity: to }: Reached): ReachFault | undefined {
  const rule = to.kind === 'Workspace' ? undefined : bound[from.kind];
  const isFree = rule === undefined || (rule === 'in-a-workspace' && from.workspace === null);
  if (isFree || to.workspace === null || to.workspace === from.workspace) return undefined;
  return {
    message: `${to.kind} "${to.name}" belongs to workspace ${to.workspace}, which this ${from.kind} does not`,
    fix: 'name one of the same workspace, or of the organisation',
  };
}

/** As {@link reachFault}, of the two ends that a binding ties together. */
export function bindingFault(guardrail: Reached, server: Reached): ReachFault | undefined {
  if (guardrail.target !== undefined && guardrail.target !== 'mcp_tools') {
    return {
      message: `Guardrail "${guardrail.identity.name}" judges LLM requests, not tools`,
      fix: 'name one with target: mcp_tools',
    };
  }
  const { workspace } = guardrail.identity;
  if (workspace === null || workspace === server.identity.workspace) return undefined;
  return {
    message: `Guardrail "${guardrail.identity.name}" belongs to workspace ${workspace}, the server to another`,
    fix: 'name a guardrail of the same workspace, or of the organisation',
  };
}
