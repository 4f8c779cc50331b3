/** Reads guardrails that are written inline in a config: `{"default.contains": {"words": [...]}, "deny": true}`. */

/** Members that are not checks: consequences of the verdict and names. */
const actionKeys = new Set([
  'deny',
  'async',
  'sequential',
  'on_success',
  'on_fail',
  'id',
  'type',
  'fail_closed',
  'on_unsupported',
  'scan_scope',
]);

interface InlineCheck {
  /** The key as written. */
  readonly key: string;
  /** The id of the check; a key without a dot gets the prefix `default.`. */
  readonly id: string;
  readonly parameters: Record<string, unknown>;
}

/** Returns the checks of an inline guardrail in their order. */
export function inlineChecks(item: Readonly<Record<string, unknown>>): InlineCheck[] {
  return Object.entries(item).flatMap(([key, parameters]) => {
    const isCheck = typeof parameters === 'object' && parameters !== null;
    if (actionKeys.has(key) || !isCheck || Array.isArray(parameters)) return [];
    const id = key.includes('.') ? key : `default.${key}`;
    return [{ key, id, parameters: parameters as Record<string, unknown> }];
  });
}
