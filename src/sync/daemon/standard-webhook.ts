/**
 * Computes signatures of Standard Webhooks, for incoming and outgoing messages. Written here
 * because the rule is one HMAC; a library would add a dependency for ten lines.
 */
import { createHmac } from 'node:crypto';

/** The parts under the signature: id, timestamp in seconds since the epoch, and body. */
export interface SignedParts {
  readonly id: string;
  readonly timestamp: string;
  readonly body: string | Buffer;
}

/** Returns `v1,<base64>`. A secret that starts with `whsec_` is the base64 of the key. */
export function standardSignature({ id, timestamp, body }: SignedParts, secret: string): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const signed = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
  return `v1,${signed.digest('base64')}`;
}
