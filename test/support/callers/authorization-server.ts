/** Starts an OAuth authorization server for MCP servers: the real oidc-provider, in which the selected account agrees at once. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

interface TokenRequestEntry {
  /** Parameters of the body. */
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
  /** The response. */
  readonly answer: ReturnType<typeof JSON.parse>;
}

export interface AuthorizationServerOptions {
  /** The resource that tokens are for. */
  readonly resource: () => string;
  /** Seconds that access tokens are valid for. */
  readonly tokenSeconds?: number;
  /** Whether clients register themselves. */
  readonly registers?: boolean;
  /** Fetches client metadata documents; absent when the server accepts none. */
  readonly fetch?: (url: string) => Promise<Response>;
  readonly clients?: readonly object[];
}

export interface AuthorizationServer extends AsyncDisposable {
  /** The issuer. */
  readonly url: string;
  readonly host: string;
  /** Requests of tokens with their responses, in order. */
  readonly journal: TokenRequestEntry[];
  /** Bodies of registrations. */
  readonly registrations: ReturnType<typeof JSON.parse>[];
  /** Changes the metadata that clients read. */
  metadata: Record<string, unknown>;
  /** Answers in place of the server, to simulate a failure; returns false to leave the request to it. */
  answer: ((...call: Parameters<RequestListener>) => boolean) | null;
  /** Called before a token request is answered. */
  beforeToken: (() => Promise<void>) | null;
  /** Audience and scope of a valid token; undefined for any other. */
  find(token: string): Promise<{ readonly aud: string; readonly scope: string } | undefined>;
}

export async function startAuthorizationServer(
  options: AuthorizationServerOptions,
): Promise<AuthorizationServer> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://${host}`;
  const provider = createProvider(url, key, options);
  const take = provider.callback();
  const journal: TokenRequestEntry[] = [];
  const registrations: AuthorizationServer['registrations'] = [];
  const state: AuthorizationServer = {
    url,
    host,
    journal,
    registrations,
    metadata: {},
    answer: null,
    beforeToken: null,
    find: (token) => provider.AccessToken.find(token),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  server.on('request', async (request, response) => {
    if (state.answer?.(request, response)) return;
    const path = request.url!.split('?')[0]!;
    if (path.startsWith('/interaction/')) {
      const result = { login: { accountId: 'ada' }, consent: {} };
      return provider.interactionFinished(request, response, result);
    }
    if (path.startsWith('/.well-known/'))
      changeBody(response, (body) => ({ ...body, ...state.metadata }));
    if (path === '/token' || path === '/reg') {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      if (path === '/token') await state.beforeToken?.();
      // oidc-provider uses a body that was read before it.
      Object.assign(request, { body: path === '/reg' ? JSON.parse(text) : text });
      if (path === '/reg') registrations.push(JSON.parse(text));
      const { authorization } = request.headers;
      changeBody(response, (answer) => {
        if (path === '/token')
          journal.push({ form: new URLSearchParams(text), authorization, answer });
        return answer;
      });
    }
    await take(request, response);
  });
  return state;
}

/** Passes the JSON of the response through `change`. */
function changeBody(
  response: Parameters<RequestListener>[1],
  change: (body: Record<string, unknown>) => Record<string, unknown>,
): void {
  const end = response.end.bind(response);
  response.end = ((chunk?: unknown, ...more: never[]) => {
    const isText = typeof chunk === 'string' || Buffer.isBuffer(chunk);
    if (!isText || !String(chunk).startsWith('{')) return end(chunk as string, ...more);
    const text = JSON.stringify(change(JSON.parse(String(chunk))));
    response.setHeader('content-length', Buffer.byteLength(text));
    return end(text);
  }) as typeof response.end;
}

function createProvider(
  url: string,
  key: object,
  {
    resource,
    tokenSeconds = 3600,
    registers = true,
    fetch,
    clients = [],
  }: AuthorizationServerOptions,
): Provider {
  const scope = 'tools admin';
  const provider: Provider = new Provider(url, {
    clients,
    jwks: { keys: [key] },
    cookies: { keys: ['of the test'] },
    scopes: ['openid', 'offline_access'],
    ttl: { Interaction: 3600, Grant: 3600, Session: 3600, RefreshToken: 3600 },
    rotateRefreshToken: true,
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    ...(fetch !== undefined && { fetch }),
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: registers },
      revocation: { enabled: true },
      clientIdMetadataDocument: { enabled: fetch !== undefined, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope,
          audience: resource(),
          accessTokenTTL: tokenSeconds,
          accessTokenFormat: 'opaque',
        }),
        useGrantedResource: () => true,
      },
    },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: async () => ({ sub }) }),
    loadExistingGrant: async ({ oidc }: { oidc: PendingSignIn }) => {
      const { clientId } = oidc.client;
      const grant = new provider.Grant({ clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope('openid offline_access');
      grant.addResourceScope(resource(), scope);
      await grant.save();
      return grant;
    },
  });
  return provider;
}

interface PendingSignIn {
  readonly client: { readonly clientId: string };
  readonly session: { readonly accountId: string };
}
