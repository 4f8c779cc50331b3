/** Defines the error of a conversation with an authorization server; its message contains no secret and is meant for users. */

export class OAuthFault extends Error {
  override name = 'OAuthFault';
  /** `invalid_grant` and others of RFC 6749, Section 5.2; null when the server did not answer in that form. */
  readonly code: string | null;

  constructor(message: string, code: string | null = null, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
