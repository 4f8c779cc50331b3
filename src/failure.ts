/** Knows how a run can end, and the one error that is written for the user. */

/** How a command ends; only the process knows the number that says so. */
export type Ending =
  | 'success'
  | 'unexpected'
  | 'changesPresent'
  | 'partialFailure'
  | 'refusedByGuard'
  | 'invalidInput'
  | 'unreachable'
  | 'retryable';

/** The endings that an error can bring about. */
export type FailureKind = Exclude<Ending, 'success' | 'changesPresent'>;

/**
 * An error whose message is written for the user: it names the place and the fix. Commands print
 * `message` (may span lines) without a stack trace and end as `kind` says. The cause is logged at
 * debug level only.
 */
export class Failure extends Error {
  override name = 'Failure';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
