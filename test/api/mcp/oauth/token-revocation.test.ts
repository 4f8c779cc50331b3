/** Verifies that tokens of deleted connections are revoked at the real authorization server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../support/server/eventually.ts';
import {
  publicUrl,
  startUserOAuthScene,
  type UserOAuthScene,
} from '../../../support/server/user-oauth.ts';

let scene: UserOAuthScene;

beforeAll(async () => {
  scene = await startUserOAuthScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

interface ConnectedUser {
  readonly userId: string;
  readonly key: string;
  readonly token: string;
}

async function connectUser(slug = scene.server.slug): Promise<ConnectedUser> {
  const user = await scene.addUserKey();
  expect((await scene.connect(user.key, `${publicUrl}/${slug}/connect`)).status).toBe(200);
  const sent = await scene.plane.send(user.key, slug, list);
  expect(sent.body.result).toBeDefined();
  return { ...user, token: scene.issuer.journal.at(-1)!.answer.access_token };
}

const isValid = async ({ token }: ConnectedUser) => (await scene.issuer.find(token)) !== undefined;
const remove = async (path: string) => {
  const { status } = await scene.plane.server.request('DELETE', path);
  expect(status).toBe(200);
};

describe('the gateway', () => {
  it('revokes the tokens of a deleted connection, and no others', async () => {
    const [ada, ben] = [await connectUser(), await connectUser()];
    await remove(`/v2/mcp-servers/${scene.server.id}/connections?user_id=${ada.userId}`);
    await eventually(async () => expect(await isValid(ada)).toBe(false));
    expect(await isValid(ben)).toBe(true);
    const { logLines } = scene.plane.server;
    await eventually(() =>
      expect(logLines.join()).toContain('tokens of an MCP connection were revoked'),
    );
    expect(logLines.join()).not.toContain(ada.token);
  });

  it('revokes the tokens of a deleted user', async () => {
    const user = await connectUser();
    await remove(`/v1/admin/users/${user.userId}`);
    await eventually(async () => expect(await isValid(user)).toBe(false));
  });

  it('revokes nothing when the deletion fails', async () => {
    const user = await connectUser();
    const path = `/v2/mcp-servers/${scene.server.id}`;
    const headers = { 'if-match': '"999999"' };
    const { status } = await scene.plane.server.request('DELETE', path, { headers });
    expect(status).toBe(412);
    expect(await isValid(user)).toBe(true);
  });

  it('reports tokens that the authorization server does not revoke, and forgets them', async () => {
    const user = await connectUser();
    scene.issuer.answer = (request, response) => {
      if (!request.url!.includes('revocation')) return false;
      response.writeHead(503).end();
      return true;
    };
    await remove(`/v2/mcp-servers/${scene.server.id}/connections?user_id=${user.userId}`);
    await eventually(() =>
      expect(scene.plane.server.logLines.join()).toContain('responds with 503'),
    );
    scene.issuer.answer = null;
    await eventually(async () => {
      const next = await scene.plane.send(user.key, scene.server.slug, list);
      expect(next.body.error.data.code).toBe('connection_required');
    });
  });

  it('revokes the tokens when the integration leads to another origin, and not before', async () => {
    const { plane } = scene;
    const integration = await plane.addIntegration({ auth_type: 'oauth_auto' });
    const server = await plane.addServer({}, integration);
    const user = await connectUser(server.slug);
    const move = async (url: string) => {
      const path = `/v2/mcp-integrations/${integration.id}`;
      expect((await plane.server.request('PUT', path, { body: { url } })).status).toBe(200);
    };
    await move(`${plane.upstream.url}/moved`);
    await move(plane.upstream.url);
    const listed = await plane.send(user.key, server.slug, list);
    expect(listed.body.result).toBeDefined();
    await move(plane.upstream.url.replace('127.0.0.1', 'moved.example'));
    await eventually(async () => expect(await isValid(user)).toBe(false));
  });

  it('revokes the tokens for a deleted server', async () => {
    const user = await connectUser();
    await remove(`/v2/mcp-servers/${scene.server.id}`);
    await eventually(async () => expect(await isValid(user)).toBe(false));
  });
});
