/** Knows after how long it is looked whether a provider still has an object, and what providers delete by themselves by then. */
import type { ObjectKind } from './object-request.ts';

const dayMs = 86_400_000;

/** Providers keep what goes by itself for thirty days at most. */
export const lookAfterMs = 31 * dayMs;
/** What a provider has no more is remembered for so long, so that nobody finds it again who looks for what was lost. */
export const deletedMs = 2 * dayMs;
/** Of an account that a config names by its key nobody can be asked. */
export const unaskedMs = 366 * dayMs;

/** What is gone by then, or told again by the list that it stands in. */
export const passingKinds: ReadonlySet<ObjectKind> = new Set([
  ...(['items', 'audio', 'messages', 'containers', 'uploads'] as const),
]);
