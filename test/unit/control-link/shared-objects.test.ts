/** Verifies that objects of the snapshot are read once for all gateways, within a bound of memory. */
import { describe, expect, it } from 'vitest';
import { SharedObjects } from '../../../src/control-link/shared-objects.ts';
import type { ObjectAddress } from '../../../src/snapshot/reading/read-update.ts';

const addressesOf = (...etags: string[]): ObjectAddress[] =>
  etags.map((etag) => ({ organisationId: '', etag }));

/** Ten bytes of each letter; others do not exist. */
function objectsOf(bytesMax: number) {
  const reads: string[][] = [];
  const database = { isAway: false };
  const readObjects = async (addresses: readonly ObjectAddress[]) => {
    reads.push(addresses.map(({ etag }) => etag));
    if (database.isAway) throw new Error('away');
    const existing = addresses.filter(({ etag }) => /^[a-z]$/.test(etag));
    return new Map(existing.map(({ etag }) => [etag, Buffer.alloc(10, etag)]));
  };
  return { objects: new SharedObjects({ readObjects }, bytesMax), reads, database };
}

describe('a replica of the control plane', () => {
  it('reads an object once for gateways that want it at the same time and later', async () => {
    const { objects, reads } = objectsOf(1_000);
    const all = await Promise.all(
      Array.from({ length: 5 }, () => objects.read(addressesOf('a', 'b'))),
    );
    for (const found of all) expect(found.map(String)).toEqual(['aaaaaaaaaa', 'bbbbbbbbbb']);
    await objects.read(addressesOf('b', 'c'));
    expect(reads).toEqual([['a', 'b'], ['c']]);
  });

  it('keeps objects up to a number of bytes, those that were wanted last', async () => {
    const { objects, reads } = objectsOf(25);
    await objects.read(addressesOf('a', 'b'));
    await objects.read(addressesOf('a'));
    await objects.read(addressesOf('c'));
    await objects.read(addressesOf('a', 'c'));
    await objects.read(addressesOf('b'));
    expect(reads).toEqual([['a', 'b'], ['c'], ['b']]);
  });

  it('reads an object again that did not exist, or could not be read', async () => {
    const { objects, reads, database } = objectsOf(1_000);
    expect(await objects.read(addressesOf('1', 'a'))).toEqual([null, expect.any(Buffer)]);
    expect(await objects.read(addressesOf('1'))).toEqual([null]);
    database.isAway = true;
    await expect(objects.read(addressesOf('b'))).rejects.toThrow('away');
    database.isAway = false;
    expect(String(await objects.read(addressesOf('b')))).toBe('bbbbbbbbbb');
    expect(reads).toEqual([['1', 'a'], ['1'], ['b'], ['b']]);
  });
});
