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
  | 'retryable'
  /** What was planned and saved is not what would be planned now. */
  | 'stale';

/** The endings that an error can bring about. */
export type FailureKind = Exclude<Ending, 'success' | 'changesPresent'>;

/** Where in the input something is wrong, lines and columns from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * An error whose message is written for the user: it names the place and the fix. Commands print
 * `message` (may span lines) without a stack trace and end as `kind` says. The cause is logged at
 * debug level only.
 */
export class Failure extends Error {
  override name = 'Failure';
  readonly kind: FailureKind;
  /** Of the first fault of several; null where no one place is to blame. */
  readonly place: Place | null;

  constructor(
    kind: FailureKind,
    message: string,
    options: ErrorOptions & { readonly place?: Place | undefined } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.place = options.place ?? null;
  }
}
