/** Assigns rows to parts and organisations to pages by their ids. */
import { crc32 } from 'node:zlib';

/** The table whose parts are sealed under the key of the deployment, so that all of them are opened at the start. */
export const deploymentTable = 'api_key_hashes';

/** `count` is a power of two. The database computes the same number. */
export function partNumberOf(value: string | Buffer, count: number): number {
  return (crc32(value) & (count - 1)) >>> 0;
}
