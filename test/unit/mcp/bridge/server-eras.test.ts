/** Tests the cache of protocol eras: shared probes, expiry, failures. */
import { describe, expect, it } from 'vitest';
import { type ServerEra, ServerEras } from '../../../../src/mcp/bridge/server-eras.ts';

const server = { id: 's', url: new URL('http://host/mcp') };
const modern: ServerEra = { era: 'modern', version: '2026-07-28' };
const legacy: ServerEra = { era: 'legacy', version: null };
const start = 1_000_000;

function opened() {
  const results: string[] = [];
  const eras = new ServerEras({ onProbe: (result) => void results.push(result) });
  return { eras, results };
}

describe('the cache of eras', () => {
  it('shares one probe among concurrent requests, and counts it once', async () => {
    const { eras, results } = opened();
    const { promise, resolve } = Promise.withResolvers<ServerEra>();
    const finding = [1, 2, 3].map(() => eras.find(server, start, () => promise));
    resolve(modern);
    expect(await Promise.all(finding)).toEqual([modern, modern, modern]);
    expect(results).toEqual(['modern']);
    expect(eras.peek(server, start)).toEqual(modern);
  });

  it('probes again after a bounded time, after a failure, and at another address', async () => {
    const { eras } = opened();
    await eras.find(server, start, async () => modern);
    expect(eras.peek(server, start + 599_999)).toEqual(modern);
    expect(eras.peek(server, start + 600_000)).toBeNull();
    expect(eras.peek({ ...server, url: new URL('http://host/other') }, start)).toBeNull();
    expect(eras.peek({ ...server, id: 'other' }, start)).toBeNull();
    eras.forget(server);
    expect(await eras.find(server, start, async () => legacy)).toEqual(legacy);
  });

  it('does not remember a failed probe, which a waiting request repeats for itself', async () => {
    const { eras, results } = opened();
    const { promise, reject } = Promise.withResolvers<ServerEra>();
    const first = eras.find(server, start, () => promise);
    const second = eras.find(server, start, async () => legacy);
    reject(new Error('the caller has gone'));
    await expect(first).rejects.toThrow('the caller has gone');
    expect(await second).toEqual(legacy);
    expect(results).toEqual(['failed', 'legacy']);
  });

  it('holds a bounded number of servers', async () => {
    const { eras } = opened();
    for (let at = 0; at <= 10_000; at += 1) {
      await eras.find({ ...server, id: `s${at}` }, start, async () => modern);
    }
    expect(eras.peek({ ...server, id: 's0' }, start)).toBeNull();
    expect(eras.peek({ ...server, id: 's10000' }, start)).toEqual(modern);
  });
});
