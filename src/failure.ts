/** Defines how a command ends, and the error whose message is written for the user. */

/** How a command ends; src/commands/shared/exit-codes.ts maps each ending to a number. */
export type Ending =
  | 'success'
  | 'unexpected'
  | 'changesPresent'
  | 'partialFailure'
  | 'refusedByGuard'
  | 'invalidInput'
  | 'unreachable'
  | 'retryable'
  /** A saved plan no longer matches the current state. */
  | 'stale';

/** The endings that an error can cause. */
export type FailureKind = Exclude<Ending, 'success' | 'changesPresent'>;

/** Position in an input file; line and column start at 1. */
export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * An error whose message is written for the user: it names the position and the fix. Commands print
 * `message` (may span lines) without a stack trace and end with `kind`. The cause is logged at debug
 * level only.
 */
export class Failure extends Error {
  override name = 'Failure';
  readonly kind: FailureKind;
  /** Position of the first fault; null when no single position applies. */
  readonly place: SourcePosition | null;

  constructor(
    kind: FailureKind,
    message: string,
    options: ErrorOptions & { readonly place?: SourcePosition | undefined } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.place = options.place ?? null;
  }
}
