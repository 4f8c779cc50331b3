/**
 * Tests the Vault client: recorded responses, sign-in, renewal, and refusal distinguished from
 * silence.
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readSecret } from '../../../src/vault/key-value.ts';
import type { VaultLogin } from '../../../src/vault/vault-access.ts';
import { VaultClient } from '../../../src/vault/vault-client.ts';
import {
  expectedTranscript,
  readRecording,
  tellStory,
} from '../../support/upstream/vault-scenario.ts';

interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
}

type Answerer = (received: ReceivedRequest) => { readonly status: number; readonly body?: unknown };

let server: Server;
let folder: string;
let address: URL;
let answerer: Answerer;
let received: ReceivedRequest[];
let now: number;
const clients: VaultClient[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-vault-wire-'));
  server = createServer(async (request, response) => {
    const one = await readRequest(request);
    received.push(one);
    const { status, body } = answerer(one);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body == null ? '' : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  received = [];
  now = 1_700_000_000_000;
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client[Symbol.asyncDispose]()));
});

async function readRequest(request: IncomingMessage): Promise<ReceivedRequest> {
  const { method = '', url = '', headers } = request;
  const hasBody = headers['content-type'] !== undefined;
  const text = (name: string): string | undefined => headers[name]?.toString();
  return {
    method,
    path: url.replace(/^\/v1\//, ''),
    body: hasBody ? await json(request) : undefined,
    token: text('x-vault-token'),
    namespace: text('x-vault-namespace'),
  };
}

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function open(login: VaultLogin, namespace: string | null = null): VaultClient {
  const access = { address, namespace, caFile: null, login };
  const clock = { now: () => now };
  const client = new VaultClient(access, clock, async () => undefined);
  clients.push(client);
  return client;
}

const byToken = (): VaultLogin => ({ method: 'token', tokenFile: file('token', 'token-canary\n') });
const endless = { status: 200, body: { data: { ttl: 0, renewable: false } } };
const place = { mount: 'secret', path: 'apps/crm' };
const stored = {
  status: 200,
  body: { data: { data: { token: 'x' }, metadata: { version: 3, custom_metadata: null } } },
};

describe('the lifecycle of a value', () => {
  it('uses the requests that a recorded Vault answered', async () => {
    const left = readRecording();
    const unlike: unknown[] = [];
    answerer = ({ method, path, body }) => {
      if (path === 'auth/token/lookup-self') return endless;
      const { request, answer } = left.shift() ?? { request: null, answer: { status: 400 } };
      const query = request?.query === undefined ? '' : `?${new URLSearchParams(request.query)}`;
      const expected = [request?.method, `${request?.path}${query}`, request?.body];
      if (!isDeepStrictEqual([method, path, body], expected)) unlike.push([method, path, body]);
      return answer;
    };
    expect(await tellStory(open(byToken()))).toEqual(expectedTranscript);
    expect({ unlike, left }).toEqual({ unlike: [], left: [] });
    expect(new Set(received.map(({ token }) => token))).toEqual(new Set(['token-canary']));
  });
});

describe('a token', () => {
  it('is sent with every request, and the namespace where one is set', async () => {
    answerer = ({ path }) => (path.startsWith('auth/') ? endless : stored);
    await readSecret(open(byToken(), 'teams/support'), place);
    expect(received.map(({ path, token, namespace }) => [path, token, namespace])).toEqual([
      ['auth/token/lookup-self', 'token-canary', 'teams/support'],
      ['secret/data/apps/crm', 'token-canary', 'teams/support'],
    ]);
  });

  it('is renewed once in the second half of its life for all callers, and replaced when that fails', async () => {
    let logins = 0;
    answerer = ({ path }) => {
      if (path === 'auth/kubernetes/login') {
        logins += 1;
        const auth = { client_token: `token-${logins}`, lease_duration: 3600, renewable: true };
        return { status: 200, body: { auth } };
      }
      if (path !== 'auth/token/renew-self') return stored;
      if (logins > 1)
        return { status: 200, body: { auth: { lease_duration: 3600, renewable: true } } };
      return { status: 403, body: { errors: ['permission denied'] } };
    };
    const tokenFile = file('account', 'jwt-canary');
    const client = open({
      method: 'kubernetes',
      mount: 'kubernetes',
      role: 'gatewright',
      tokenFile,
    });
    await Promise.all([readSecret(client, place), readSecret(client, place)]);
    const [first] = received;
    expect(first).toMatchObject({ path: 'auth/kubernetes/login', token: undefined });
    expect(first!.body).toEqual({ role: 'gatewright', jwt: 'jwt-canary' });
    now += 1_799_000;
    await readSecret(client, place);
    expect(received.map(({ path }) => path)).toHaveLength(4);
    now += 2_000;
    await Promise.all([readSecret(client, place), readSecret(client, place)]);
    now += 1_801_000;
    await readSecret(client, place);
    const reported = received.slice(4).map(({ path, token }) => `${path} ${token}`);
    expect(reported).toEqual([
      'auth/token/renew-self token-1',
      'auth/kubernetes/login undefined',
      'secret/data/apps/crm token-2',
      'secret/data/apps/crm token-2',
      'auth/token/renew-self token-2',
      'secret/data/apps/crm token-2',
    ]);
  });

  it('replaces a token that is rejected long after sign-in and repeats the request, but not a fresh token', async () => {
    let logins = 0;
    answerer = ({ path, token }) => {
      if (path === 'auth/approle/login') {
        logins += 1;
        return { status: 200, body: { auth: { client_token: `token-${logins}` } } };
      }
      return token === 'token-2'
        ? stored
        : { status: 403, body: { errors: ['permission denied'] } };
    };
    const secretIdFile = file('secret-id', 'secret-id-canary');
    const client = open({ method: 'appRole', mount: 'approle', roleId: 'role', secretIdFile });
    await expect(readSecret(client, place)).rejects.toThrow(
      'Vault does not read secret/apps/crm (403)',
    );
    expect(logins).toBe(1);
    now += 60_000;
    expect(await readSecret(client, place)).toMatchObject({ version: 3 });
    expect(logins).toBe(2);
  });

  it.each([
    ['is not there', 'nowhere', 'nowhere cannot be read (ENOENT)'],
    ['is empty', 'empty', 'empty is empty'],
  ])('names the setting and the path when its file %s', async (_, name, words) => {
    file('empty', '\n');
    answerer = () => stored;
    const client = open({ method: 'token', tokenFile: join(folder, name) });
    await expect(readSecret(client, place)).rejects.toThrow(words);
    await expect(readSecret(client, place)).rejects.toThrow('GATEWRIGHT_VAULT_TOKEN_FILE');
    expect(received).toEqual([]);
  });
});

describe('a response of Vault', () => {
  it.each([
    ['is nothing where there is no secret', { status: 404, body: { errors: [] } }, null],
    [
      'is an empty secret with its version where the newest was deleted',
      {
        status: 404,
        body: { data: { data: null, metadata: { version: 4, custom_metadata: null } } },
      },
      { version: 4, data: {}, customMetadata: {} },
    ],
  ])('%s', async (_, answer, secret) => {
    answerer = ({ path }) => (path.startsWith('auth/') ? endless : answer);
    expect(await readSecret(open(byToken()), place)).toEqual(secret);
  });

  it.each([
    [
      'no engine',
      { status: 404, body: { errors: ['no handler for route "secret/data/apps/crm"'] } },
      'no handler for route',
    ],
    [
      'a refusal',
      { status: 403, body: { errors: ['1 error occurred:\n\t* permission denied\n\n'] } },
      'permission denied',
    ],
    [
      'a seal',
      { status: 503, body: { errors: ['Vault is sealed'] } },
      'is out of reach: it is sealed',
    ],
    ['another address', { status: 307 }, 'it redirects (307), and redirects are not followed'],
    ['no JSON', { status: 502 }, 'is out of reach: it responds with 502'],
  ])('is reported where it is %s, without a credential', async (_, answer, words) => {
    answerer = ({ path }) => (path.startsWith('auth/') ? endless : answer);
    const failure = await readSecret(open(byToken()), place).catch((error: Error) => error);
    expect(String(failure)).toContain(words);
    expect(JSON.stringify(failure) + String(failure)).not.toContain('canary');
  });

  it('is requested three times when missing, and then not for five seconds', async () => {
    answerer = ({ path }) => (path.startsWith('auth/') ? endless : { status: 500 });
    const client = open(byToken());
    await expect(readSecret(client, place)).rejects.toThrow('it responds with 500');
    expect(received).toHaveLength(4);
    await expect(readSecret(client, place)).rejects.toThrow('it responds with 500');
    expect(received).toHaveLength(4);
    now += 5_000;
    answerer = () => stored;
    expect(await readSecret(client, place)).toMatchObject({ version: 3 });
  });
});
