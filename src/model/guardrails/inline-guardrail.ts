/** Reads guardrails that are written inline in a config: `{"default.contains": {"words": [...]}, "deny": true}`. */

import { z } from 'zod';
import { foreignActionFields } from '../services/foreign-fields.ts';
import { type Fault, faultsOfIssues } from '../wire/fault.ts';
import { acceptWithoutEffect, unknownFieldFaults } from '../wire/unknown-fields.ts';
import { GuardrailActions } from './guardrail.ts';
import { windowFaults } from './stream-windows.ts';

const naming = {
  id: z.string().optional(),
  name: z.string().optional(),
  type: z.string().optional(),
};

/** Members that are not checks: consequences of the verdict and names. */
const InlineActions = acceptWithoutEffect(
  z.looseObject({ ...GuardrailActions.shape, ...naming }),
  foreignActionFields,
);

/** A guardrail that lists its checks as a stored one does, such as a hook. */
export const InlineHook = acceptWithoutEffect(
  z.looseObject({
    ...InlineActions.shape,
    checks: z
      .array(
        z.looseObject({
          id: z.string(),
          name: z.string().optional(),
          is_enabled: z.boolean().optional(),
          parameters: z.record(z.string(), z.unknown()).optional(),
        }),
      )
      .optional(),
  }),
  foreignActionFields,
);

const actionKeys: ReadonlySet<string> = new Set([
  ...Object.keys(InlineActions.shape),
  ...foreignActionFields,
  'extensions',
]);

interface InlineCheck {
  /** The key as written. */
  readonly key: string;
  /** The id of the check; a key without a dot gets the prefix `default.`. */
  readonly id: string;
  readonly parameters: Record<string, unknown>;
}

/** Returns the members that are neither checks nor actions: checks are objects. */
export function inlineFieldFaults(item: Readonly<Record<string, unknown>>): Fault[] {
  const checks = new Set(inlineChecks(item).map(({ key }) => key));
  const others = Object.entries(item).filter(([key]) => !checks.has(key));
  return unknownFieldFaults(InlineActions, Object.fromEntries(others));
}

/** Returns the faults in the values of actions; paths start at the guardrail. */
export function inlineActionFaults(item: Readonly<Record<string, unknown>>): Fault[] {
  const parsed = InlineActions.safeParse(item);
  return parsed.success ? [] : faultsOfIssues(parsed.error.issues);
}

/** Returns the faults of windows; an inline guardrail has no member `actions`. */
export function inlineWindowFaults(
  checks: Parameters<typeof windowFaults>[0],
  { stream }: Readonly<Record<string, unknown>>,
): Fault[] {
  return windowFaults(checks, stream).map((fault) => ({ ...fault, path: fault.path.slice(1) }));
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
