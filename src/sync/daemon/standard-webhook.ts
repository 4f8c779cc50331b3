/** Knows the signatures of Standard Webhooks, of what comes in and of what goes out. */
import { createHmac } from 'node:crypto';

/** Of the moment, seconds since the epoch, and of id and body, which are signed with it. */
export interface SignedParts {
  readonly id: string;
  readonly timestamp: string;
  readonly body: string | Buffer;
}

/** `v1,<base64>`; a secret `whsec_…` is base64 of the key. */
export function standardSignature({ id, timestamp, body }: SignedParts, secret: string): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const signed = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
  return `v1,${signed.digest('base64')}`;
}
