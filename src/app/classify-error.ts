/** Distinguishes errors of an unreachable database from unexpected ones. */
import { MissingMasterKey } from '../auth/master-keys.ts';
import { isOutcomeUnknown, isUnavailable } from '../store/connection/unavailable.ts';

export function classifyError(error: unknown): 'outcomeUnknown' | 'unavailable' | 'internal' {
  if (isOutcomeUnknown(error)) return 'outcomeUnknown';
  if (error instanceof MissingMasterKey) return 'unavailable';
  return isUnavailable(error) ? 'unavailable' : 'internal';
}
