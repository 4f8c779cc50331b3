/** Knows how a run can end badly in a way the user can mend, and which exit code says so. */

/** Exit codes of every command (design/sync.md 4.2). */
export const exitCodes = {
  success: 0,
  unexpected: 1,
  changesPresent: 2,
  partialFailure: 3,
  refusedByGuard: 4,
  invalidInput: 5,
  unreachable: 6,
  retryable: 7,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * An error whose message is written for the user: it names the place and the fix. Commands print
 * `message` (may span lines) without a stack trace and exit with `exitCode`. The cause is logged at
 * debug level only.
 */
export class Failure extends Error {
  override name = 'Failure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
