/** Defines the states of definitions against the approved ones, and what servers do about the others. */
import { z } from 'zod';

/** In order of strictness. */
const policies = ['observe', 'hide', 'block'] as const;

export const DefinitionPolicy = z.enum(policies);
export type DefinitionPolicy = z.infer<typeof DefinitionPolicy>;

export const definitionStates = ['trusted', 'drifted', 'new', 'gone'] as const;
export type DefinitionState = (typeof definitionStates)[number];

/** The stricter of the policies of an integration and of its server; observe when neither has one. */
export function stricterPolicy(...given: readonly (DefinitionPolicy | null)[]): DefinitionPolicy {
  const ranks = given.map((policy) => (policy === null ? 0 : policies.indexOf(policy)));
  return policies[Math.max(0, ...ranks)]!;
}

/** Digests of one definition: the approved one, and the newest one seen; null for none. */
export interface PinnedDigests {
  readonly approved_digest: string | null;
  readonly seen_digest: string | null;
}

export function definitionState({ approved_digest, seen_digest }: PinnedDigests): DefinitionState {
  if (approved_digest === null) return 'new';
  if (seen_digest === null) return 'gone';
  return approved_digest === seen_digest ? 'trusted' : 'drifted';
}

export const DefinitionDigest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits');
