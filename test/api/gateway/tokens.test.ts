/**
 * Verifies that a JWT of a trusted issuer acts as a key of its workspace, and that all other JWTs
 * are rejected.
 */
import { createHmac } from 'node:crypto';
import { type CryptoKey, exportSPKI, importJWK } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { startTokenIssuer, type TokenIssuer } from '../../support/callers/token-issuer.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer, testSettings } from '../../support/server/server.ts';
import {
  chatAnswer,
  sendJson,
  startUpstream,
  type TestUpstream,
} from '../../support/upstream/upstream.ts';

type SigningKey = Awaited<ReturnType<TokenIssuer['addKey']>>;

let issuer: TokenIssuer;
/** An issuer that is trusted by another organisation only. */
let stranger: TokenIssuer;
let upstream: TestUpstream;
let server: TestServer;
let key: SigningKey;
/** The signing key of that issuer. */
let theirs: SigningKey;
let workspace: { readonly id: string; readonly slug: string };

beforeAll(async () => {
  [issuer, stranger, upstream] = await Promise.all([
    startTokenIssuer(),
    startTokenIssuer(),
    startUpstream(),
  ]);
  key = await issuer.addKey('main');
  theirs = await stranger.addKey('theirs');
  const trusted = readTrustedHosts([issuer.host, stranger.host, upstream.host].join());
  const tokens = {
    keySets: [
      { url: issuer.url, tsgId: null },
      { url: stranger.url, tsgId: '9999999999' },
    ],
    issuer: null,
    audience: 'gatewright',
    clockToleranceSeconds: 5,
    defaultScopes: [],
  };
  server = await startTestServer({
    settings: {
      trustedHosts: 'hosts' in trusted ? trusted.hosts : [],
      inference: { ...testSettings().inference, tokens },
    },
  });
  const made = await server.request('POST', '/v1/admin/workspaces', {
    body: { name: 'Support', defaults: { metadata: { team: 'support' } } },
  });
  workspace = made.body;
});

beforeEach(() => {
  upstream.reached.length = 0;
  upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const one of [issuer, stranger, upstream]) await one[Symbol.asyncDispose]();
});

/** Claims that are valid for one hour by the clock of the test. */
const claims = (more: object = {}) => ({
  tsg_id: server.tsgId,
  workspace_slug: workspace.slug,
  aud: 'gatewright',
  sub: 'alice',
  scopes: ['completions.write'],
  exp: Math.floor(server.clock.now() / 1000) + 3_600,
  ...more,
});

function chat(token: string, headers: Record<string, string> = {}, config: object | null = {}) {
  const provider = { provider: 'mock-upstream', custom_host: upstream.url };
  const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }], max_tokens: 20 };
  return exchange('POST', `${server.inferenceUrl}/v1/chat/completions`, body, {
    authorization: `Bearer ${token}`,
    ...(config !== null && { 'x-gateway-config': JSON.stringify({ ...provider, ...config }) }),
    ...headers,
  });
}

async function codeOf(token: string, config: object | null = {}): Promise<string> {
  const { status, body } = await chat(token, {}, config);
  return status === 200 ? '200' : `${status} ${body.error.code}`;
}

describe('a JWT', () => {
  it('authenticates its caller as a key of its workspace, and is verified once', async () => {
    const token = await key.sign(claims());
    expect(await codeOf(token)).toBe('200');
    const fetches = issuer.fetches();
    issuer.answer = (_, response) => void response.writeHead(500).end();
    for (let at = 0; at < 20; at += 1) expect(await codeOf(token)).toBe('200');
    expect(issuer.fetches()).toBe(fetches);
    issuer.answer = null;
    const visible = upstream.reached.flatMap(({ rawHeaders }) => rawHeaders).join();
    expect(visible).not.toContain(token);
  });

  it.each([
    [
      'organisation_id and workspace_id',
      () => ({
        organisation_id: server.organisationId,
        tsg_id: undefined,
        workspace_slug: undefined,
        workspace_id: workspace.id,
      }),
    ],
    ['scope as OAuth writes it', () => ({ scopes: undefined, scope: 'openid completions.write' })],
    ['typ at+jwt', () => ({})],
  ])('accepts workspace and scopes in the form of %s', async (name, more) => {
    const header = name.startsWith('typ') ? { typ: 'at+jwt' } : {};
    expect(await codeOf(await key.sign(claims(more()), header))).toBe('200');
  });

  it('is accepted in x-gateway-api-key as well', async () => {
    const headers = { authorization: '', 'x-gateway-api-key': await key.sign(claims()) };
    expect((await chat('', headers)).status).toBe(200);
  });

  it('is rejected one second after expiry plus clock tolerance, also when it was accepted before', async () => {
    const exp = Math.floor(server.clock.now() / 1000) + 60;
    const [known, fresh] = await Promise.all(
      ['a', 'b'].map((jti) => key.sign(claims({ exp, jti }))),
    );
    expect(await codeOf(known!)).toBe('200');
    server.clock.advance(64_000);
    expect(await codeOf(known!)).toBe('200');
    server.clock.advance(2_000);
    expect(await codeOf(known!)).toBe('401 token_expired');
    expect(await codeOf(fresh!)).toBe('401 token_expired');
  });

  it.each([
    ['no exp', { exp: undefined }],
    ['an nbf to come', { nbf: 4_000_000_000 }],
    ['another audience', { aud: 'other' }],
    ['no organisation', { tsg_id: undefined }],
    ['an unknown organisation', { tsg_id: '1000000001' }],
    ['no workspace', { workspace_slug: undefined }],
    ['an unknown workspace', { workspace_slug: 'nowhere' }],
    ['a scope that does not exist', { scopes: ['completions.all'] }],
    ['limits but no sub', { sub: undefined, rate_limits: [] }],
    ['limits that are none', { usage_limits: { credit_limit: -1 } }],
  ])('returns 401 with %s', async (_, more) => {
    expect(await codeOf(await key.sign(claims(more)))).toBe('401 invalid_token');
  });

  it('returns 403 without the scope', async () => {
    const token = await key.sign(claims({ scopes: ['logs.list'] }));
    expect(await codeOf(token)).toBe('403 scope_missing');
    expect(await codeOf(await key.sign(claims({ scopes: undefined })))).toBe('403 scope_missing');
  });

  it('returns 401 when its issuer is trusted by another organisation only', async () => {
    expect(await codeOf(await theirs.sign(claims()))).toMatch(/^401 invalid_token$/);
  });

  it('returns 401 at the Admin API', async () => {
    const token = await key.sign(claims({ scopes: ['workspaces.list'] }));
    const requested = await server.request('GET', '/v1/admin/workspaces', {
      auth: 'none',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(requested.status).toBe(401);
  });
});

describe('a forged JWT', () => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it('returns 401 without a signature, or signed with a public value', async () => {
    const open = (await importJWK(key.jwk, 'RS256', { extractable: true })) as CryptoKey;
    const pem = await exportSPKI(open);
    const payload = part(claims());
    const forged = (alg: string, secret: string | null) => {
      const text = `${part({ alg, typ: 'JWT', kid: 'main' })}.${payload}`;
      const mac =
        secret === null ? '' : createHmac('sha256', secret).update(text).digest('base64url');
      return `${text}.${mac}`;
    };
    const tokens = [
      forged('none', null),
      forged('None', null),
      forged('RS256', null),
      forged('HS256', pem),
      forged('RS256', pem),
      forged('HS256', ''),
    ];
    for (const token of tokens) expect(await codeOf(token)).toBe('401 invalid_token');
  });

  it.each([
    ['another typ', { typ: 'secevent+jwt' }],
    ['no typ', { typ: undefined }],
    ['no kid', { kid: undefined }],
    ['a kid that is a path', { kid: '../../etc/passwd' }],
    ['a kid that is SQL', { kid: "' OR 1=1 --" }],
    ['a kid that is no text', { kid: 7 as never }],
    ['its own key in it', { kid: 'own', jwk: { kty: 'oct', k: 'AAAA' } }],
    ['an address of its keys', { kid: 'own', jku: 'http://127.0.0.1:1/keys' }],
  ])('returns 401 with %s', async (_, header) => {
    expect(await codeOf(await key.sign(claims(), header))).toBe('401 invalid_token');
  });

  it('returns 401 when it is altered by one character, truncated, or huge', async () => {
    const token = await key.sign(claims());
    expect(await codeOf(token)).toBe('200');
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const swapped = (text: string, at: number) =>
      text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
    const tokens = [
      `${header}.${swapped(payload, 30)}.${signature}`,
      `${header}.${payload}.${swapped(signature, 30)}`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature}AAAA`,
      `${header}.e30.${signature}`,
      `${header}.${payload}.${'A'.repeat(9_000)}`,
    ];
    for (const one of tokens) expect(await codeOf(one)).toBe('401 invalid_token');
  });

  it('does not cause repeated fetches of the issuer keys', async () => {
    await chat(await key.sign(claims()));
    const fetches = issuer.fetches();
    const answers = await Promise.all(
      Array.from({ length: 30 }, async (_, at) =>
        codeOf(await key.sign(claims(), { kid: `k${at}` })),
      ),
    );
    expect(new Set(answers)).toEqual(new Set(['401 invalid_token']));
    expect(issuer.fetches()).toBeLessThanOrEqual(fetches + 1);
  });
});

describe('a claim of a JWT', () => {
  it('sets the config, and may forbid overriding it', async () => {
    const made = await server.request('POST', '/v1/configs', {
      body: {
        name: 'of tokens',
        workspace_id: workspace.id,
        config: { provider: 'mock-upstream', custom_host: upstream.url },
      },
    });
    const defaults = { config_id: made.body.slug, allow_config_override: false };
    const token = await key.sign(claims({ defaults }));
    expect(await codeOf(token, null)).toBe('200');
    expect(await codeOf(token)).toBe('400 config_override_forbidden');
  });

  it('leaves the override setting to the workspace when it is absent', async () => {
    const made = await server.request('POST', '/v1/admin/workspaces', {
      body: { name: 'Firm', defaults: { allow_config_override: false } },
    });
    const workspace_slug = made.body.slug;
    expect(await codeOf(await key.sign(claims({ workspace_slug })))).toBe(
      '400 config_override_forbidden',
    );
    const defaults = { allow_config_override: true };
    expect(await codeOf(await key.sign(claims({ workspace_slug, defaults })))).toBe('200');
  });

  it('sets a rate limit for all tokens of its subject, and for nobody else', async () => {
    const limited = (sub: string, jti: string) =>
      key.sign(claims({ sub, jti, rate_limits: [{ type: 'requests', unit: 'rpd', value: 2 }] }));
    const [first, second, other] = await Promise.all([
      limited('bob', '1'),
      limited('bob', '2'),
      limited('carol', '1'),
    ]);
    expect(await codeOf(first!)).toBe('200');
    expect(await codeOf(second!)).toBe('200');
    expect(await codeOf(first!)).toBe('429 rate_limit_exceeded');
    expect(await codeOf(second!)).toBe('429 rate_limit_exceeded');
    expect(await codeOf(other!)).toBe('200');
  });

  it('sets a budget for the window, and stores the end so that its counter is deleted', async () => {
    const budget = { type: 'tokens', credit_limit: 300, periodic_reset: 'weekly' };
    const exp = Math.floor(server.clock.now() / 1000) + 30 * 86_400;
    const token = await key.sign(claims({ sub: 'dave', usage_limits: budget, exp }));
    upstream.script = (_, response) => {
      sendJson(response, { ...chatAnswer, usage: { prompt_tokens: 290, completion_tokens: 10 } });
    };
    expect(await codeOf(token)).toBe('200');
    expect(await codeOf(token)).toBe('412 usage_limit_exceeded');
    const { db } = server.database;
    const windows = () =>
      db
        .selectFrom('usage_windows')
        .select('ended_at')
        .where('subject_kind', '=', 'token')
        .execute();
    await eventually(async () => expect(await windows()).toHaveLength(2));
    server.clock.advance(7 * 86_400_000);
    expect(await codeOf(token)).toBe('200');
    await eventually(async () => {
      const rows = await db
        .selectFrom('usage_counters')
        .select('used_units')
        .where('subject_kind', '=', 'token')
        .execute();
      expect(rows.map((row) => Number(row.used_units))).toEqual([300, 300]);
    });
  });

  it('counts under the limits of its workspace', async () => {
    const made = await server.request('POST', '/v1/admin/workspaces', {
      body: {
        name: 'Small',
        rate_limits: [{ type: 'requests', unit: 'rpd', value: 1 }],
      },
    });
    expect(made.status).toBe(200);
    const token = await key.sign(claims({ workspace_slug: made.body.slug }));
    expect(await codeOf(token)).toBe('200');
    expect(await codeOf(token)).toBe('429 rate_limit_exceeded');
  });
});
