/** Knows a value that stands encrypted in the source, opened or not. */
import type { Secret } from '../../secret.ts';

/** Stands in a document in place of the encrypted text. */
export class SealedValue {
  /** Empty where it could not be opened. */
  readonly secret: Secret;
  readonly isOpen: boolean;

  constructor(secret: Secret, isOpen: boolean) {
    this.secret = secret;
    this.isOpen = isOpen;
  }
}
