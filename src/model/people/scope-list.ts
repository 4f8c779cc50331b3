/** Defines the list of scopes in a request body. */
import { z } from 'zod';

const scopesMax = 500;

/** Scope names; the order is preserved. Names are checked against the catalogue elsewhere (model/people/scopes.ts). */
export const Scopes = z
  .array(z.string().min(1).max(128))
  .min(1)
  .max(scopesMax)
  .refine((scopes) => new Set(scopes).size === scopes.length, 'must not repeat a scope');
