/** Checks that no socket to a provider reaches a forbidden address, whatever a name resolves to. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrustedHosts, type TrustedHosts } from '../../../src/trusted-hosts.ts';
import { Call, CallCut } from '../../../src/upstream/call.ts';
import { AddressRefused, type Resolve } from '../../../src/upstream/guarded-connect.ts';
import { Origins } from '../../../src/upstream/origins.ts';

let server: Server;
let port: number;
let connections = 0;

beforeAll(async () => {
  server = createServer((_, response) => response.end('reached'));
  server.on('connection', () => {
    connections += 1;
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  port = (server.address() as AddressInfo).port;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function trusted(text: string): TrustedHosts {
  const read = readTrustedHosts(text);
  return 'hosts' in read ? read.hosts : [];
}

/** Every name resolves to these addresses, to one list after the other when there are several. */
function resolving(...answers: string[][]): Resolve {
  let requested = 0;
  return (_, __, done) => {
    const addresses = answers[Math.min(requested, answers.length - 1)]!;
    requested += 1;
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
}

async function call(host: string, trust: string, resolve?: Resolve): Promise<string> {
  await using origins = new Origins(trusted(trust), resolve);
  const origin = `http://${host}:${port}`;
  const request = { origin, path: '/', method: 'GET', headers: {}, body: null };
  const one = new Call(origins.at(origin), {
    ...request,
    silenceTimeoutMs: 0,
  });
  try {
    await one.responseStarted;
    one.pipe({ data: () => true, end: () => undefined, fail: () => undefined });
    one.cut(new CallCut('seen'));
    return 'reached';
  } catch (error) {
    if (!(error instanceof AddressRefused)) throw error;
    return 'refused';
  }
}

describe('a call to a provider', () => {
  it.each([
    ['a literal of this machine', '127.0.0.1', ''],
    ['a name that leads to this machine', 'rebound.example', ''],
    ['a name one of whose addresses is private', 'mixed.example', ''],
    ['a trusted name that leads to cloud metadata', 'meta.example', 'meta.example'],
    [
      'a trusted name that leads to cloud metadata in IPv6 spelling',
      'meta6.example',
      'meta6.example',
    ],
    ['a name that leads to a mapped private address', 'mapped.example', ''],
  ])('rejects %s before a byte is sent', async (_, host, trust) => {
    const addresses: Record<string, string[]> = {
      'rebound.example': ['127.0.0.1'],
      'mixed.example': ['93.184.216.34', '127.0.0.1'],
      'meta.example': ['169.254.169.254'],
      'meta6.example': ['::ffff:169.254.169.254'],
      'mapped.example': ['::ffff:127.0.0.1'],
    };
    const before = connections;
    expect(await call(host, trust, resolving(addresses[host] ?? []))).toBe('refused');
    expect(connections).toBe(before);
  });

  it.each([
    ['a trusted literal', '127.0.0.1', '127.0.0.1'],
    ['a trusted name', 'inner.example', 'inner.example'],
    ['a name in a trusted network', 'inner.example', '127.0.0.0/8'],
    ['a name below a trusted suffix', 'a.inner.example', '*.inner.example'],
  ])('connects to %s', async (_, host, trust) => {
    expect(await call(host, trust, resolving(['127.0.0.1']))).toBe('reached');
  });

  it('is rejected where the trusted entry names another port', async () => {
    expect(await call('inner.example', `inner.example:${port + 1}`, resolving(['127.0.0.1']))).toBe(
      'refused',
    );
    expect(await call('inner.example', `inner.example:${port}`, resolving(['127.0.0.1']))).toBe(
      'reached',
    );
  });

  it('checks the resolved addresses for each socket', async () => {
    const resolve = resolving(['127.0.0.1'], ['169.254.169.254']);
    expect(await call('inner.example', 'inner.example', resolve)).toBe('reached');
    expect(await call('inner.example', 'inner.example', resolve)).toBe('refused');
  });
});
