/** Knows which scopes somebody may hand on: those that exist, and that they hold themselves. */
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../model/errors.ts';
import { isKnownScope, scopesBeyond } from '../../model/scopes.ts';
import { validationError } from '../../model/validation-error.ts';

/**
 * Refuses scopes that do not exist and those the author does not hold. `kept` are the present ones,
 * which an update may repeat; `path` is where the list stands in the body.
 *
 * @throws ApiError `invalid` or `forbidden`.
 */
export function requireGrantable(
  caller: Principal,
  scopes: readonly string[],
  kept: readonly string[],
  path: readonly string[] = ['scopes'],
): void {
  const unknown = scopes.findIndex((scope) => !isKnownScope(scope));
  if (unknown >= 0) {
    throw validationError({ path: [...path, unknown], message: 'is not a scope' });
  }
  const added = scopes.filter((scope) => !kept.includes(scope));
  const beyond = scopesBeyond(caller.scopes, added);
  if (beyond.length === 0) return;
  const message = `not enough permissions to grant ${beyond.join(', ')}`;
  throw new ApiError('forbidden', message, path.join('.'));
}
