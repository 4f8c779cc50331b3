/** Defines the input of a request whose tokens its bytes do not bound. */

/** Input that may have more tokens than bytes. */
export interface NonTextInput {
  pictures: number;
  /** Bytes of inline images, which do not count as text. */
  pictureBytes: number;
  /** Whether the size is unknown: files, audio, and what the provider stores or fetches. */
  isOpen: boolean;
}
