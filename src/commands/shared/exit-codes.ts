/** Maps every ending to its exit code. */
import type { Ending } from '../../failure.ts';

export const exitCodes: Readonly<Record<Ending, number>> = {
  success: 0,
  unexpected: 1,
  changesPresent: 2,
  partialFailure: 3,
  refusedByGuard: 4,
  invalidInput: 5,
  unreachable: 6,
  retryable: 7,
  stale: 8,
};
