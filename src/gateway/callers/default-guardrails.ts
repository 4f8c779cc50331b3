/** Determines the guardrails that apply to every request of a key: those of its organisation and of its workspace. */
import { readDocument } from '../../model/wire/json-record.ts';
import type { WorkspaceDefaults } from '../../model/workspaces/workspace.ts';
import type { StoredGuardrailExclusion } from '../../store/resources/guardrail-exclusions.ts';
import type { StoredDefaults } from '../../store/resources/organisation-defaults.ts';
import type { StoredWorkspace } from '../../store/resources/workspaces.ts';

/** Ids or slugs of guardrails. */
export interface DefaultGuardrails {
  readonly input: readonly string[];
  readonly output: readonly string[];
}

type Exclusion = Pick<StoredGuardrailExclusion, 'input_guardrails' | 'output_guardrails'>;

/** Lists those of the organisation first, unless the workspace is excluded from them. */
export function defaultGuardrails(
  everywhere: Pick<StoredDefaults, 'input_guardrails' | 'output_guardrails'>,
  workspace: Pick<StoredWorkspace, 'defaults'> | null,
  exclusion: Exclusion | undefined,
): DefaultGuardrails {
  const own = readDocument<WorkspaceDefaults>(workspace?.defaults ?? null) ?? {};
  const inherited = (text: string, excludes: number | undefined): string[] =>
    excludes === 1 ? [] : (JSON.parse(text) as string[]);
  return {
    input: [
      ...inherited(everywhere.input_guardrails, exclusion?.input_guardrails),
      ...(own.input_guardrails ?? []),
    ],
    output: [
      ...inherited(everywhere.output_guardrails, exclusion?.output_guardrails),
      ...(own.output_guardrails ?? []),
    ],
  };
}
