/** Knows the keys under which a change may be sent twice and is made once, and for how long they count. */

/** One to 255 visible ASCII characters; a UUID as a rule. */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** An answer is given again for 24 hours. */
export const answersKeptMs = 24 * 60 * 60 * 1000;
