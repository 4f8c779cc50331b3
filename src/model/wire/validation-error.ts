/** Builds the error response for invalid input. */
import { ApiError } from './errors.ts';
import type { Fault } from './fault.ts';

const faultsListedMax = 20;
const faultCharactersMax = 300;

/**
 * Returns one error for all faults. `param` is the path of the first; the message lists each with its
 * path: `Request Validation Error: rate_limits[0].unit: is not known; name: is required`.
 */
export function validationError(...faults: readonly Fault[]): ApiError {
  const lines = faults.slice(0, faultsListedMax).map(faultText);
  const rest = faults.length - lines.length;
  if (rest > 0) lines.push(`and ${rest} more`);
  const param = pathText(faults[0]?.path ?? []).slice(0, faultCharactersMax);
  return new ApiError('invalid', `Request Validation Error: ${lines.join('; ')}`, param);
}

/** `rate_limits[0].unit: is not known`, shortened. */
export function faultText({ path, message }: Fault): string {
  const text = path.length === 0 ? message : `${pathText(path)}: ${message}`;
  return text.slice(0, faultCharactersMax);
}

/** @throws ApiError `invalid` when there are any. */
export function rejectFaults(faults: readonly Fault[]): void {
  if (faults.length > 0) throw validationError(...faults);
}

/** `rate_limits[0].unit`. */
function pathText(path: Fault['path']): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}
