/**
 * Checks that issuer keys are fetched rarely, and that an unknown key is distinguished from an
 * unavailable issuer.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IssuerKeys, IssuerKeysUnavailable } from '../../../src/gateway/callers/issuer-keys.ts';
import { IssuerOrigins } from '../../../src/gateway/callers/issuer-origins.ts';
import { Secret } from '../../../src/secret.ts';
import { readTrustedHosts, type TrustedHosts } from '../../../src/trusted-hosts.ts';
import { Origins } from '../../../src/upstream/origins.ts';
import { startTokenIssuer, type TokenIssuer } from '../../support/callers/token-issuer.ts';
import { startForwardProxy } from '../../support/network/forward-proxy.ts';
import { eventually } from '../../support/server/eventually.ts';

let issuer: TokenIssuer;
let origins: Pick<IssuerOrigins, 'at'>;
/** The default of `origins`; tests may pass others. */
let direct: Origins;
let failures: unknown[];
let nowMs: number;

function trusting(...hosts: string[]): TrustedHosts {
  const read = readTrustedHosts(hosts.join(','));
  return 'hosts' in read ? read.hosts : [];
}

function keysOf(...urls: string[]): IssuerKeys {
  return new IssuerKeys({
    issuers: urls.map((url) => ({ url, tsgIds: null })),
    origins,
    monotonicMs: () => nowMs,
    onFailure: (error) => failures.push(error),
  });
}

const namesOf = async (keys: IssuerKeys, name: string) =>
  (await keys.find(name)).keys.map(({ algorithm }) => algorithm);

beforeEach(async () => {
  issuer = await startTokenIssuer();
  direct = new Origins(trusting(issuer.host));
  origins = direct;
  failures = [];
  nowMs = 1_000_000;
});

afterEach(async () => {
  await direct[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

describe('keys of an issuer', () => {
  it('fetches the keys once for all concurrent callers', async () => {
    await issuer.addKey('a');
    await issuer.addKey('b', 'ES256');
    await issuer.addKey('c', 'EdDSA');
    const keys = keysOf(issuer.url);
    const found = await Promise.all(['a', 'b', 'c', 'a'].map((name) => namesOf(keys, name)));
    expect(found).toEqual([['RS256'], ['ES256'], ['EdDSA'], ['RS256']]);
    expect(issuer.fetches()).toBe(1);
  });

  it('fetches at most once in 30 seconds, however many unknown key ids are used', async () => {
    await issuer.addKey('a');
    const keys = keysOf(issuer.url);
    await namesOf(keys, 'a');
    for (let at = 0; at < 1_000; at += 1) expect(await namesOf(keys, `stranger-${at}`)).toEqual([]);
    expect(issuer.fetches()).toBe(1);
    nowMs += 30_000;
    const names = Array.from({ length: 1_000 }, (_, at) => namesOf(keys, `other-${at}`));
    expect((await Promise.all(names)).flat()).toEqual([]);
    expect(issuer.fetches()).toBe(2);
  });

  it('finds new keys as soon as a fetch is allowed, and drops withdrawn keys with that fetch', async () => {
    await issuer.addKey('old');
    const keys = keysOf(issuer.url);
    const { version } = await keys.find('old');
    issuer.published.length = 0;
    await issuer.addKey('new');
    nowMs += 30_000;
    expect(await namesOf(keys, 'new')).toEqual(['RS256']);
    expect(keys.version).not.toBe(version);
    expect(await namesOf(keys, 'old')).toEqual([]);
  });

  it('renews keys in use after five minutes', async () => {
    await issuer.addKey('a');
    const keys = keysOf(issuer.url);
    await namesOf(keys, 'a');
    issuer.published.length = 0;
    nowMs += 300_001;
    expect(await namesOf(keys, 'a')).toEqual(['RS256']);
    await eventually(async () => expect(await namesOf(keys, 'a')).toEqual([]));
    const { version } = keys;
    await issuer.addKey('b');
    nowMs += 300_001;
    keys.renewIfStale();
    await eventually(() => expect(keys.version).not.toBe(version));
    expect(issuer.fetches()).toBe(3);
  });

  it('uses cached keys for a day while the issuer is away, and treats other ids as unknown', async () => {
    await issuer.addKey('a');
    const keys = keysOf(issuer.url);
    await namesOf(keys, 'a');
    issuer.answer = (_, response) => void response.writeHead(500).end();
    nowMs += 86_400_000;
    expect(await namesOf(keys, 'a')).toEqual(['RS256']);
    await eventually(() => expect(failures).toHaveLength(1));
    await expect(keys.find('b')).rejects.toThrow(IssuerKeysUnavailable);
    nowMs += 1;
    await expect(keys.find('a')).rejects.toThrow(IssuerKeysUnavailable);
  });

  it('retries a failed first fetch after 5 seconds', async () => {
    issuer.answer = (_, response) => void response.socket?.destroy();
    const keys = keysOf(issuer.url);
    for (let at = 0; at < 50; at += 1)
      await expect(keys.find('a')).rejects.toThrow(IssuerKeysUnavailable);
    expect(issuer.fetches()).toBe(1);
    issuer.answer = null;
    await issuer.addKey('a');
    nowMs += 5_000;
    expect(await namesOf(keys, 'a')).toEqual(['RS256']);
  });

  it('fetches through a proxy that alone can resolve the host, unless the host is exempt', async () => {
    await issuer.addKey('a');
    await using proxy = await startForwardProxy();
    const http = new Secret(new URL(proxy.url), 'test');
    const url = issuer.url.replace('127.0.0.1', 'login.test');
    const named = new URL(url).host;
    await using own = new IssuerOrigins(origins, { http, https: http, exempt: [] });
    origins = own;
    expect(await namesOf(keysOf(url), 'a')).toEqual(['RS256']);
    expect(proxy.requests).toEqual([expect.stringContaining(named)]);
    await using exempt = new IssuerOrigins(direct, { http, https: http, exempt: ['login.test'] });
    origins = exempt;
    await expect(keysOf(url).find('a')).rejects.toThrow(IssuerKeysUnavailable);
    expect(await namesOf(keysOf(issuer.url), 'a')).toEqual(['RS256']);
    expect(proxy.requests).toHaveLength(1);
  });

  it('skips another issuer that is away when the key id is known', async () => {
    await issuer.addKey('a');
    const other = await startTokenIssuer();
    await using _ = other;
    await using own = new Origins(trusting(issuer.host, other.host));
    origins = own;
    const keys = keysOf(issuer.url, other.url);
    await namesOf(keys, 'a');
    other.answer = (_request, response) => void response.writeHead(500).end();
    nowMs += 300_001;
    expect(await namesOf(keys, 'a')).toEqual(['RS256']);
    await expect(keys.find('b')).rejects.toThrow(IssuerKeysUnavailable);
  });
});

describe('a key set', () => {
  const { stringify } = JSON;

  it.each([
    ['is no JSON', 'keys'],
    ['has no list', '{}'],
    ['has more than 256 KiB', `{"keys": []${' '.repeat(262_144)}}`],
    ['has more than 100 keys', stringify({ keys: Array.from({ length: 101 }, () => ({})) })],
  ])('rejects a key set that %s', async (_, text) => {
    issuer.answer = (_request, response) => void response.end(text);
    await expect(keysOf(issuer.url).find('a')).rejects.toThrow(IssuerKeysUnavailable);
    expect(failures).toHaveLength(1);
  });

  it('ignores a key that is a secret, for encryption, for another algorithm, broken, or of a duplicate id', async () => {
    const { jwk } = await issuer.addKey('good');
    issuer.published.push(
      { kty: 'oct', k: 'c2VjcmV0', kid: 'secret' },
      { ...jwk, kid: 'encryption', use: 'enc' },
      { ...jwk, kid: 'algorithm', alg: 'RS512' },
      { kty: 'RSA', n: '!', e: 'AQAB', kid: 'broken' },
      { ...jwk, kid: 'twice' },
    );
    const { jwk: second } = await issuer.addKey('twice');
    expect(second.n).not.toBe(jwk.n);
    const keys = keysOf(issuer.url);
    const names = ['good', 'secret', 'encryption', 'algorithm', 'broken', 'twice', '__proto__'];
    const found = await Promise.all(names.map(async (name) => (await namesOf(keys, name)).length));
    expect(found).toEqual([1, 0, 0, 0, 0, 0, 0]);
  });

  it('never fetches a key set from a private address that is not trusted', async () => {
    await using own = new Origins([]);
    origins = own;
    await expect(keysOf(issuer.url).find('a')).rejects.toThrow(IssuerKeysUnavailable);
    expect(issuer.fetches()).toBe(0);
    expect(String(failures[0])).toContain('private address');
  });
});
