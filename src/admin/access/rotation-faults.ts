/** States why the rotation of a key or secret is refused. */
import { ApiError } from '../../model/wire/errors.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';

interface RotateBody {
  readonly await_delivery?: boolean | undefined;
  readonly key?: string | undefined;
  readonly client_secret?: string | undefined;
}

/**
 * Only a value that the caller has chosen can await delivery.
 *
 * @throws ApiError `invalid`
 */
export function requireChosenForDelivery(body: RotateBody, field: 'key' | 'client_secret'): void {
  if (body.await_delivery !== true || body[field] !== undefined) return;
  const message = `is allowed only together with ${field}`;
  throw validationError({ path: ['await_delivery'], message });
}

const rotated = {
  key_transition_expires_at: 'This key is being rotated: the previous value',
  secret_transition_expires_at: 'This secret is being rotated: the previous one',
} as const;

/** `end` is when the previous value ends, milliseconds since the epoch; null until its successor is delivered. */
export function stillRotating(end: number | null, param: keyof typeof rotated): ApiError {
  const until = end === null ? 'its successor is delivered' : formatTimestamp(end);
  return new ApiError('conflict', `${rotated[param]} is valid until ${until}`, param);
}
