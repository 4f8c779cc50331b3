/** Knows what stands for a write-only value: its fingerprint, which proves it unchanged without showing it. */
import { createHmac } from 'node:crypto';

/** Hex HMAC-SHA256; `key` is the snapshot's own, another for each owner. */
export function fingerprintOf(key: Buffer, value: string): string {
  return createHmac('sha256', key).update(value).digest('hex');
}
