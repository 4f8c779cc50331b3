/** Knows how a guardrail is written into a config: `{"default.contains": {"words": [...]}, "deny": true}`. */

/** Members that are not checks: what the verdict leads to, and what it is called. */
const actionKeys = new Set([
  ...['deny', 'async', 'sequential', 'on_success', 'on_fail', 'id', 'type'],
  ...['fail_closed', 'scan_scope'],
]);

interface InlineCheck {
  /** As written. */
  readonly key: string;
  /** One without a dot is a `default.` one. */
  readonly id: string;
  readonly parameters: Record<string, unknown>;
}

/** The checks of a guardrail written out, in their order. */
export function inlineChecks(item: Readonly<Record<string, unknown>>): InlineCheck[] {
  return Object.entries(item).flatMap(([key, parameters]) => {
    const isCheck = typeof parameters === 'object' && parameters !== null;
    if (actionKeys.has(key) || !isCheck || Array.isArray(parameters)) return [];
    const id = key.includes('.') ? key : `default.${key}`;
    return [{ key, id, parameters: parameters as Record<string, unknown> }];
  });
}
