/** Defines an entry of the catalogue of guardrail checks. */
import { z } from 'zod';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { foreignCheckParameters } from '../services/foreign-fields.ts';
import type { Fault } from '../wire/fault.ts';
import { acceptWithoutEffect } from '../wire/unknown-fields.ts';

export interface CheckKind {
  /** Display name. */
  readonly name: string;
  /** Condition under which the check passes, or what the check does. */
  readonly about: string;
  /** Types of the parameters; `unknownFieldFaults` finds parameters that it does not define. */
  readonly parameters: z.ZodType;
  /** Whether the check is deterministic and so allowed for tool calls (target `mcp_tools`). */
  readonly tools: boolean;
  /**
   * Upper bound in bytes of what decides the check, so that it can judge a stream in windows; null for a check that needs
   * the whole text. Absent means null.
   */
  readonly longestMatchBytes?: (parameters: CheckParameters) => number | null;
  /** Rules that the types cannot express; paths start at the parameters. */
  readonly faults?: (parameters: CheckParameters, trusted: TrustedHosts) => Fault[];
  /** Reasons why the check cannot judge although it is valid; paths start at the parameters. */
  readonly warnings?: (parameters: CheckParameters) => Fault[];
}

type CheckParameters = Readonly<Record<string, unknown>>;

/** Parameters of one check, with those that every check has. */
export function checkParametersOf(shape: z.ZodRawShape): z.ZodType {
  const common = { failOnError: z.boolean().optional(), executeOnProxy: z.boolean().optional() };
  return acceptWithoutEffect(z.looseObject({ ...shape, ...common }), foreignCheckParameters);
}
