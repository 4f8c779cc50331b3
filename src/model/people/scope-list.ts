/** Knows how a body lists scopes. */
import { z } from 'zod';

const scopesMax = 500;

/** Scope names; order is kept. The catalogue of names is checked apart (model/people/scopes.ts). */
export const Scopes = z
  .array(z.string().min(1).max(128))
  .min(1)
  .max(scopesMax)
  .refine((scopes) => new Set(scopes).size === scopes.length, 'must not repeat a scope');
