/** Starts an MCP gateway in front of a server that accepts tokens of an authorization server only, with a user and a browser. */
import type { Settings } from '../../../src/settings.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from '../callers/authorization-server.ts';
import type { JournalEntry } from '../upstream/mcp-journal.ts';
import { Browser, type Page } from './browser.ts';
import { type CreatedResource, type McpTestPlane, startMcpTestPlane } from './mcp-plane.ts';
import { addUser } from './people.ts';
import { testSettings } from './server.ts';

/** Where browsers reach the gateway; `Browser.origins` leads there. */
export const publicUrl = 'https://mcp.test';

export interface UserOAuthScene extends AsyncDisposable {
  readonly plane: McpTestPlane;
  readonly issuer: AuthorizationServer;
  readonly server: CreatedResource;
  /** Scope that the server demands; null for none. */
  demandedScope: string | null;
  /** Members of the metadata of the protected resource beside the usual ones. */
  resourceMetadata: Record<string, unknown>;
  /** Adds a user with a key. */
  addUserKey(): Promise<{ readonly userId: string; readonly key: string }>;
  openBrowser(): Browser;
  /** Enters the key at the address; returns the page with the consent. */
  enterKey(browser: Browser, url: string, key: string): Promise<Page>;
  /** Follows the authorization until the page of the gateway; returns the address of the callback. */
  authorize(browser: Browser, consent: Page): Promise<string>;
  /** Connects an account from the beginning to the end. */
  connect(key: string, url?: string): Promise<Page>;
}

export async function startUserOAuthScene(
  more: Partial<AuthorizationServerOptions> = {},
  integration: object = {},
  settings: Partial<Settings> = {},
): Promise<UserOAuthScene> {
  const resource = { url: '' };
  const issuer = await startAuthorizationServer({ resource: () => resource.url, ...more });
  const mcp = { ...testSettings().mcp, port: 0, publicUrl };
  const plane = await startMcpTestPlane({ mcp, ...settings }, issuer.host);
  resource.url = plane.upstream.url;
  const server = await plane.addServer(
    {},
    await plane.addIntegration({ auth_type: 'oauth_auto', ...integration }),
  );
  const openBrowser = (): Browser => {
    const browser = new Browser();
    browser.origins.set(publicUrl, plane.server.mcpUrl);
    return browser;
  };
  const enterKey: UserOAuthScene['enterKey'] = async (browser, url, key) => {
    const opened = await browser.get(url);
    if (opened.status !== 200) return opened;
    return browser.post(url, { key });
  };
  const authorize: UserOAuthScene['authorize'] = async (browser, { text }) => {
    let next = linkIn(text);
    while (!next.startsWith(`${publicUrl}/oauth/callback`)) {
      const page = await browser.get(next);
      if (page.location === null) throw new Error(`${next}: ${page.status} ${page.text}`);
      next = new URL(page.location, next).href;
    }
    return next;
  };
  const scene: UserOAuthScene = {
    plane,
    issuer,
    server,
    demandedScope: null,
    resourceMetadata: {},
    openBrowser,
    enterKey,
    authorize,
    addUserKey: async () => {
      const userId = await addUser(plane.server);
      const { id } = plane.workspace;
      const path = `/v1/admin/workspaces/${id}/users`;
      const body = { users: [{ id: userId, role: 'member' }] };
      await plane.server.request('POST', path, { body });
      const named = { name: 'own', scopes: ['mcp.invoke'], workspace_id: id, user_id: userId };
      const { key } = await plane.create('/v1/api-keys/workspace/user', named);
      return { userId, key };
    },
    connect: async (key, url = `${publicUrl}/${server.slug}/connect`) => {
      const browser = openBrowser();
      const consent = await enterKey(browser, url, key);
      return browser.get(await authorize(browser, consent));
    },
    [Symbol.asyncDispose]: async () => {
      await plane[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
  plane.upstream.intercept = (entry, response) => guard(scene, entry, response);
  return scene;
}

function linkIn(text: string): string {
  const [, link] = /<a class="go" href="([^"]+)"/.exec(text) ?? [];
  if (link === undefined) throw new Error(`the page has no link: ${text}`);
  return link.replaceAll('&amp;', '&');
}

type Respond = Parameters<NonNullable<McpTestPlane['upstream']['intercept']>>[1];

/** Answers for the resource server: its metadata, and 401 or 403 for a token that does not suffice. */
async function guard(
  { plane, issuer, demandedScope, resourceMetadata }: UserOAuthScene,
  { url, headers }: JournalEntry,
  response: Respond,
): Promise<boolean> {
  const { upstream } = plane;
  const json = (status: number, body: object, more: Record<string, string> = {}): true => {
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    response.end(JSON.stringify(body));
    return true;
  };
  if (url === '/.well-known/oauth-protected-resource/mcp') {
    const metadata = { resource: upstream.url, authorization_servers: [issuer.url] };
    return json(200, { ...metadata, scopes_supported: ['tools'], ...resourceMetadata });
  }
  const token = await issuer.find((headers.authorization ?? '').replace('Bearer ', ''));
  const at = `resource_metadata="http://${upstream.host}/.well-known/oauth-protected-resource/mcp"`;
  if (token === undefined || token.aud !== upstream.url) {
    return json(401, {}, { 'www-authenticate': `Bearer error="invalid_token", ${at}` });
  }
  if (demandedScope !== null && !token.scope.split(' ').includes(demandedScope)) {
    const challenge = `Bearer error="insufficient_scope", scope="${demandedScope}", ${at}`;
    return json(403, {}, { 'www-authenticate': challenge });
  }
  return false;
}
