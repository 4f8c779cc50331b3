/** Verifies how tokens of users are refreshed: by one process at a time, and what happens when the authorization server refuses or is silent. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type App, openApp } from '../../../../src/app.ts';
import { createLog } from '../../../../src/log.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { startUserOAuthScene, type UserOAuthScene } from '../../../support/server/user-oauth.ts';

let scene: UserOAuthScene;
let replica: App;
let replicaUrl: string;
let key: string;
let userId: string;
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };
const hourMs = 3_600_000;

beforeAll(async () => {
  scene = await startUserOAuthScene();
  const { server } = scene.plane;
  const { clock, settings } = server;
  const log = createLog({ level: 'silent' });
  const readSharedTime = async () => clock.now();
  replica = openApp(settings, { log, clock, readSharedTime, components: ['mcp'] });
  await replica.connect();
  replicaUrl = (await replica.listen()).mcpUrl!;
});
beforeEach(async () => {
  ({ key, userId } = await scene.addUserKey());
  await scene.connect(key);
  scene.issuer.journal.length = 0;
  scene.plane.upstream.journal.length = 0;
});
afterEach(() => {
  scene.issuer.answer = null;
  scene.issuer.beforeToken = null;
});
afterAll(async () => {
  await replica[Symbol.asyncDispose]();
  await scene[Symbol.asyncDispose]();
});

const send = (url = scene.plane.server.mcpUrl) =>
  scene.plane.send(key, scene.server.slug, list, { url });
const refreshes = () =>
  scene.issuer.journal.filter(({ form }) => form.get('grant_type') === 'refresh_token');
const connections = async () =>
  (
    await scene.plane.server.request(
      'GET',
      `/v2/mcp-servers/${scene.server.id}/connections?user_id=${userId}`,
    )
  ).body.total;
/** The authorization server does not answer token requests. */
const silence = () => {
  scene.issuer.answer = (request, response) => {
    if (request.url !== '/token') return false;
    response.writeHead(503).end();
    return true;
  };
};

describe('an expired token', () => {
  it('is refreshed once by concurrent calls at two replicas, again and again', async () => {
    for (let round = 1; round <= 3; round += 1) {
      scene.plane.server.clock.advance(hourMs);
      const calls = Array.from({ length: 20 }, (_, at) =>
        send(at % 2 === 0 ? undefined : replicaUrl),
      );
      const answers = await Promise.all(calls);
      expect(answers.map(({ status, body }) => [status, body.error])).toEqual(
        answers.map(() => [200, undefined]),
      );
      expect(refreshes()).toHaveLength(round);
    }
    const used = refreshes().map(({ form }) => form.get('refresh_token'));
    expect(new Set(used).size).toBe(3);
    expect(refreshes()[0]!.form.get('resource')).toBe(scene.plane.upstream.url);
  });

  it('is refreshed before it expires, while other calls use it', async () => {
    scene.plane.server.clock.advance(hourMs - 30_000);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: requested, resolve: noteRequest } = Promise.withResolvers<void>();
    scene.issuer.beforeToken = async () => {
      noteRequest();
      await held;
    };
    const first = send();
    await requested;
    expect((await send(replicaUrl)).body.result).toBeDefined();
    release();
    expect((await first).body.result).toBeDefined();
    expect(refreshes()).toHaveLength(1);
  });

  it('is 502 with the reason while the authorization server is silent, and refreshed later', async () => {
    const { clock } = scene.plane.server;
    clock.advance(hourMs);
    silence();
    const refused = await send();
    expect(refused).toMatchObject({
      status: 502,
      body: { id: 'seven', error: { data: { code: 'server_unusable' } } },
    });
    expect(refused.body.error.message).toContain('/token responds with 503');
    scene.issuer.answer = null;
    // The server has a pause before the next request.
    expect((await send(replicaUrl)).status).toBe(502);
    expect(refreshes()).toEqual([]);
    clock.advance(6_000);
    expect((await send(replicaUrl)).body.result).toBeDefined();
  });

  it('still serves while it is valid and the authorization server is silent', async () => {
    scene.plane.server.clock.advance(hourMs - 30_000);
    silence();
    expect((await send()).body.result).toBeDefined();
  });

  it('is refreshed by another process when the first one was lost', async () => {
    const { clock, database } = scene.plane.server;
    clock.advance(hourMs);
    // A process that was killed during its refresh leaves this behind.
    await database.db
      .updateTable('mcp_connections')
      .set({ refresh_claim: 'lost', refresh_claimed_until: clock.now() + 30_000 })
      .where('user_id', '=', userId)
      .execute();
    const waiting = send();
    clock.advance(31_000);
    expect((await waiting).body.result).toBeDefined();
    expect(refreshes()).toHaveLength(1);
  });
});

describe('a token that the server does not accept', () => {
  it('is refreshed, and the call is repeated once', async () => {
    scene.plane.server.clock.advance(60_000);
    const { intercept } = scene.plane.upstream;
    const refused: string[] = [];
    scene.plane.upstream.intercept = (entry, response) => {
      const { authorization = '' } = entry.headers;
      refused[0] ??= authorization;
      if (authorization !== refused[0]) return intercept!(entry, response);
      response.writeHead(401).end();
      return true;
    };
    const listed = await send();
    scene.plane.upstream.intercept = intercept;
    expect(listed.body.result).toBeDefined();
    expect(refreshes()).toHaveLength(1);
    expect(scene.plane.upstream.journal).toHaveLength(2);
  });

  it('leads to a new authorization when it is new, without a loop', async () => {
    const { intercept } = scene.plane.upstream;
    scene.plane.upstream.intercept = (_, response) => {
      response.writeHead(401).end();
      return true;
    };
    const refused = await send();
    scene.plane.upstream.intercept = intercept;
    expect(refused.body.error.data.code).toBe('connection_required');
    expect(refreshes()).toEqual([]);
    expect(scene.plane.upstream.journal).toHaveLength(1);
  });
});

describe('a grant that the user has revoked', () => {
  it('ends the connection', async () => {
    scene.plane.server.clock.advance(hourMs);
    scene.issuer.answer = (request, response) => {
      if (request.url !== '/token') return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end('{"error":"invalid_grant"}');
      return true;
    };
    expect(await connections()).toBe(1);
    expect((await send()).body.error.data.code).toBe('connection_required');
    expect(await connections()).toBe(0);
  });
});

describe('a connection that is deleted during a refresh', () => {
  it('stays deleted', async () => {
    const { plane, issuer, server } = scene;
    plane.server.clock.advance(hourMs);
    issuer.beforeToken = async () => {
      const path = `/v2/mcp-servers/${server.id}/connections?user_id=${userId}`;
      expect((await plane.server.request('DELETE', path)).status).toBe(200);
    };
    const refused = await send();
    expect(refused.body.error.data.code).toBe('connection_required');
    expect(await connections()).toBe(0);
    await eventually(async () => {
      expect((await send(replicaUrl)).body.error.data.code).toBe('connection_required');
    });
  });
});
