/** Serves what a browser needs to connect an account: pages, the callback of authorization servers, and the gateway's client metadata. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readCookie } from '../../auth/cookies.ts';
import type { Keyring } from '../../auth/keyring.ts';
import type { GatewayKey } from '../../gateway/callers/gateway-key.ts';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import { writeResponseHead } from '../../http/responses/response-head.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import { type AuthorizationRequests, lifetimeMs } from './begin-authorization.ts';
import { readScope } from './challenge.ts';
import { connectedPage, consentPage, faultPage, keyPage, pageHeaders } from './connect-pages.ts';
import type { AuthorizationResponses } from './finish-authorization.ts';
import { type ClientAddresses, clientMetadataDocument } from './oauth-client.ts';
import { OAuthFault } from './oauth-fault.ts';
import type { OAuthServer } from './oauth-server.ts';

/** The caller that a key proves, and the server that it may use. */
export interface ProvenCaller {
  readonly key: Pick<GatewayKey, 'personId'>;
  readonly server: OAuthServer;
}

export interface ConnectSiteOptions {
  /** Address at which browsers reach the gateway, without a slash at its end. */
  readonly publicUrl: string;
  readonly addresses: ClientAddresses;
  readonly begin: AuthorizationRequests;
  readonly finish: AuthorizationResponses;
  readonly keyring: Pick<Keyring, 'signLink'>;
  /** @throws GatewayError, PlaneFault */
  readonly prove: (key: string, slug: string, request: IncomingMessage) => Promise<ProvenCaller>;
  readonly isUnavailable: (error: unknown) => boolean;
  readonly onFault: (error: unknown) => void;
}

const callbackPath = '/oauth/callback';
const clientPath = '/oauth/client.json';
const connectPath = /^\/([A-Za-z0-9_-]{1,255})\/connect$/;
const formBytesMax = 16 * 1024;

/** Addresses of the gateway as an OAuth client. */
export function clientAddresses(publicUrl: string): ClientAddresses {
  return { redirectUri: publicUrl + callbackPath, metadataUrl: publicUrl + clientPath };
}

interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class ConnectSite {
  readonly #options: ConnectSiteOptions;
  readonly #origin: string;
  /** Path of the public address, which a proxy may have removed. */
  readonly #prefix: string;

  constructor(options: ConnectSiteOptions) {
    const { origin, pathname } = new URL(options.publicUrl);
    this.#options = options;
    this.#origin = origin;
    this.#prefix = pathname === '/' ? '' : pathname;
  }

  /** Where a user connects an account to a server; a scope in it is signed. */
  connectUrl({ id, slug }: Pick<OAuthServer, 'id' | 'slug'>, scope: string | null): string {
    const url = `${this.#options.publicUrl}/${slug}/connect`;
    if (scope === null) return url;
    const signature = this.#signatureOf(id, scope).toString('base64url');
    return `${url}?${new URLSearchParams({ scope, signature })}`;
  }

  /** Returns the work of a request of a browser; null for any other request. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> | null {
    const url = URL.parse(request.url ?? '', 'http://gateway');
    if (url === null) return null;
    const own = `${this.#prefix}/`;
    const path = url.pathname.startsWith(own)
      ? url.pathname.slice(this.#prefix.length)
      : url.pathname;
    const slug = connectPath.exec(path)?.[1];
    if (request.method === 'GET' && path === clientPath) return this.#sendClient(response);
    if (request.method === 'GET' && path === callbackPath) {
      return this.#send(response, () => this.#finish(request, url));
    }
    if (slug === undefined) return null;
    if (request.method === 'GET') {
      return this.#send(response, async () => ({ status: 200, text: keyPage(slug, null) }));
    }
    if (request.method !== 'POST') return null;
    return this.#send(response, () => this.#begin(request, { url, slug }));
  }

  async #sendClient(response: ServerResponse): Promise<void> {
    writeResponseHead(response, 200, {
      'content-type': 'application/json',
      'cache-control': 'max-age=300',
    });
    response.end(JSON.stringify(clientMetadataDocument(this.#options.addresses)));
  }

  async #send(response: ServerResponse, make: () => Promise<Page>): Promise<void> {
    const { status, text, headers } = await make().catch((error: unknown) => this.#pageOf(error));
    writeResponseHead(response, status, { ...pageHeaders, ...headers });
    response.end(text);
  }

  #pageOf(error: unknown): Page {
    if (error instanceof OAuthFault) return { status: 400, text: faultPage(error.message) };
    if (error instanceof PlaneFault || error instanceof GatewayError) {
      return { status: Math.max(error.status, 400), text: faultPage(error.message) };
    }
    if (this.#options.isUnavailable(error)) {
      return { status: 503, text: faultPage('the gateway cannot reach its database; try again') };
    }
    this.#options.onFault(error);
    return { status: 500, text: faultPage('the gateway failed unexpectedly') };
  }

  /** A key that is entered on a page of another site could be that of somebody else. */
  async #begin(
    request: IncomingMessage,
    { url, slug }: { readonly url: URL; readonly slug: string },
  ): Promise<Page> {
    if (request.headers.origin !== this.#origin) {
      throw new OAuthFault(
        `this page must be opened at ${this.connectUrl({ id: '', slug }, null)}`,
      );
    }
    const { begin, prove } = this.#options;
    const form = new URLSearchParams(await readForm(request));
    const { key, server } = await prove(form.get('key')?.trim() ?? '', slug, request);
    if (key.personId === null) {
      return {
        status: 403,
        text: keyPage(slug, 'This key belongs to no user; enter one of your own.'),
      };
    }
    if (server.userOAuth === null)
      throw new OAuthFault('the MCP server needs no account of a user');
    const begun = await begin.begin(
      server,
      key.personId,
      this.#wantedScope(server, url.searchParams),
    );
    const { grant, state, browserValue } = begun;
    return {
      status: 200,
      text: consentPage({ ...grant, url: begun.url }),
      headers: { 'set-cookie': this.#cookie(state, browserValue, lifetimeMs / 1000) },
    };
  }

  async #finish({ headers }: IncomingMessage, { searchParams }: URL): Promise<Page> {
    const response = Object.fromEntries(searchParams);
    if ([...searchParams.keys()].length > Object.keys(response).length) {
      throw new OAuthFault('a parameter of the response is repeated');
    }
    const state = response.state ?? '';
    const cookie = readCookie(headers.cookie ?? '', this.#cookieName(state));
    const { slug } = await this.#options.finish.finish(response, cookie);
    return {
      status: 200,
      text: connectedPage(slug),
      headers: { 'set-cookie': this.#cookie(state, '', 0) },
    };
  }

  /** The scope that a call has lacked; null without one, and for one that this gateway has not signed. */
  #wantedScope({ id }: OAuthServer, query: URLSearchParams): string | null {
    const scope = readScope(query.get('scope'));
    if (scope === null) return null;
    const sent = Buffer.from(query.get('signature') ?? '', 'base64url');
    const own = this.#signatureOf(id, scope);
    return sent.length === own.length && timingSafeEqual(sent, own) ? scope : null;
  }

  #signatureOf(serverId: string, scope: string): Buffer {
    return this.#options.keyring.signLink(`mcp-connect|${serverId}|${scope}`);
  }

  get #isSecure(): boolean {
    return this.#origin.startsWith('https:');
  }

  /** One cookie for each authorization, so that several can run in one browser. */
  #cookieName(state: string): string {
    const name = `gatewright-mcp-${hash('sha256', state).slice(0, 16)}`;
    return this.#isSecure ? `__Host-${name}` : name;
  }

  #cookie(state: string, value: string, seconds: number): string {
    const flags = `Path=/; HttpOnly; SameSite=Lax${this.#isSecure ? '; Secure' : ''}`;
    return `${this.#cookieName(state)}=${value}; Max-Age=${seconds}; ${flags}`;
  }
}

async function readForm(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > formBytesMax) throw new OAuthFault('the form is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
