/** Generates the value of a new credential, or takes the one that a sync has chosen. */
import { isWellFormedApiKey, makeApiKey } from '../../model/people/credentials.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { AdminDeps } from '../request/deps.ts';
import type { CreateFields } from '../request/frame-fields.ts';

interface ValueRequest extends Pick<CreateFields, 'managed_by'> {
  readonly key?: string | undefined;
  readonly client_secret?: string | undefined;
}

/**
 * Clients may choose the value only for crash-safe delivery by sync (docs/guides/key-delivery.md, Delivery of keys).
 *
 * @throws ApiError `invalid` for a value without an owner, or a malformed one
 */
export function chooseValue(
  deps: Pick<AdminDeps, 'apiKeyPrefix'>,
  body: ValueRequest,
  field: 'key' | 'client_secret',
): string {
  const value = body[field];
  if (value === undefined) return makeApiKey(deps.apiKeyPrefix);
  if (body.managed_by === undefined) {
    throw validationError({ path: [field], message: 'is allowed only together with managed_by' });
  }
  if (!isWellFormedApiKey(value)) {
    throw validationError({ path: [field], message: 'is not a well-formed API key' });
  }
  return value;
}
