/** Computes fingerprints of write-only values, which reveal whether a value has changed but not the value. */
import { createHmac } from 'node:crypto';

/** Hex HMAC-SHA256. `key` belongs to the snapshot and differs for each owner. */
export function fingerprintOf(key: Buffer, value: string): string {
  return createHmac('sha256', key).update(value).digest('hex');
}
