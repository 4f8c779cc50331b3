/** Defines the slugs of guardrails, which are always generated. */
import { isUuid, type SlugForm } from '../wire/slug-forms.ts';

export const guardrailSlugForm: SlugForm = { prefix: 'pg', nameLengthMax: 6 };

/** Whether a server can have given a guardrail this id or slug. */
export function isGuardrailName(name: string): boolean {
  return isUuid(name) || /^pg-(?:[a-z0-9][a-z0-9-]{0,5}-)?[0-9a-f]{6}$/.test(name);
}
