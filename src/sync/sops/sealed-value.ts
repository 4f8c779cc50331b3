/** Defines a value that is encrypted in the source, decrypted or not. */
import type { Secret } from '../../secret.ts';

/** Replaces the encrypted text in a document. */
export class SealedValue {
  /** Empty if it could not be decrypted. */
  readonly secret: Secret;
  readonly isOpen: boolean;

  constructor(secret: Secret, isOpen: boolean) {
    this.secret = secret;
    this.isOpen = isOpen;
  }
}

/**
 * Returns the key of a value among the encrypted ones of a file.
 *
 * @param path keys and indexes as in the file
 */
export function sealedKey(document: number, path: readonly string[]): string {
  return [document, ...path].join('\u0000');
}
