/** Finds where a spec names guardrails by slug or id. */
import { guardrailReferences } from '../configs/guardrail-references.ts';
import { matchesPattern, replaceValues } from '../manifests/path-patterns.ts';
import { type KindName, kinds } from './kinds.ts';

/** A guardrail that a spec names. */
export interface NamedGuardrail {
  /** Path in the spec. */
  readonly path: readonly string[];
  readonly name: string;
}

/** References that have been resolved are not included. */
export function guardrailNames(
  kind: KindName,
  spec: Readonly<Record<string, unknown>>,
): NamedGuardrail[] {
  if (kind === 'Config') {
    return guardrailReferences(spec.config).map(({ path, guardrail }) => ({
      path: ['config', ...path.map(String)],
      name: guardrail,
    }));
  }
  const references = kinds[kind].references.filter((one) => one.kind === 'Guardrail');
  if (references.length === 0) return [];
  const named: NamedGuardrail[] = [];
  replaceValues(spec, (value, path) => {
    const isNamed = references.some((one) => matchesPattern(one.path, path));
    if (isNamed && typeof value === 'string') named.push({ path: [...path], name: value });
    return undefined;
  });
  return named;
}

/** Lists of guardrails for MCP tools say so in their name. */
export function guardrailTargetAt(kind: KindName, path: readonly string[]): 'llm' | 'mcp_tools' {
  const isOfTools =
    kind === 'GuardrailMcpBinding' || path.some((key) => /^mcp_?(?:in|out)put/i.test(key));
  return isOfTools ? 'mcp_tools' : 'llm';
}
