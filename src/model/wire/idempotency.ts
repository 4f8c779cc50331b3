/** Defines the form of idempotency keys and how long their responses are stored. */

/** One to 255 visible ASCII characters; usually a UUID. */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** A stored response is replayed for 24 hours. */
export const idempotentResponseTtlMs = 24 * 60 * 60 * 1000;
