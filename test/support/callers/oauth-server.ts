/** Starts a real authorization server, oidc-provider, that grants tokens for MCP servers by client credentials. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  createLocalJWKSet,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  type JWTVerifyGetKey,
  jwtVerify,
  SignJWT,
} from 'jose';
import Provider from 'oidc-provider';

interface TokenRequestEntry {
  readonly headers: IncomingHttpHeaders;
  readonly form: Record<string, string>;
}

export interface OAuthServer extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly tokenUrl: string;
  /** Requests at the token endpoint, in order. */
  readonly journal: TokenRequestEntry[];
  /** Answers in place of the token endpoint, unless it is null. */
  script: RequestListener | null;
  /** Private keys of the client `keyed`, as PEM or as a JWK. */
  readonly keys: { readonly pem: string; readonly jwk: string };
  /** Signs a token of a person, as this server issues it. */
  sign(claims: Record<string, unknown>, typ?: string): Promise<string>;
  /** The subject of an assertion (ID-JAG) of this server for the issuer and the client. */
  subjectOf(assertion: string, issuer: string, clientId: string): Promise<string>;
  /** Whether the token was granted here for the resource, and is valid now. */
  verifies(token: string, resource: string): Promise<boolean>;
}

/** Secrets with characters that each way of sending them encodes. */
export const oauthClients = {
  basic: { id: 'basic', secret: 'canary-secret of:basic%' },
  post: { id: 'post', secret: 'canary-secret&of=post' },
  keyed: { id: 'keyed' },
} as const;

const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const assertionType = 'urn:ietf:params:oauth:token-type:id-jag';
const assertionTyp = 'oauth-id-jag+jwt';
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const scopes = 'tools prompts';
/** Tests have a clock of their own, which assertions follow. */
const toleranceSeconds = 366 * 86_400;

/** Accepts assertions of `identityProvider`, if there is one. */
export async function startOAuthServer(
  identityProvider: OAuthServer | null = null,
): Promise<OAuthServer> {
  const signer = await generateKeyPair('RS256', { extractable: true });
  const own = { kid: 'one', alg: 'RS256', use: 'sig' };
  const client = await generateKeyPair('ES256', { extractable: true });
  const clientKey = { kid: 'client', alg: 'ES256', use: 'sig' };
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://${host}`;
  const provider = new Provider(url, {
    clients: clientsWith(
      { ...(await exportJWK(client.publicKey)), ...clientKey },
      identityProvider === null ? [exchangeGrant] : [exchangeGrant, assertionGrant],
    ),
    jwks: { keys: [{ ...(await exportJWK(signer.privateKey)), ...own }] },
    scopes: scopes.split(' '),
    clockTolerance: toleranceSeconds,
    ttl: { ClientCredentials: 3600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: scopes,
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 3600,
        }),
      },
    },
  });
  const take = provider.callback();
  const published = createLocalJWKSet({
    keys: [{ ...(await exportJWK(signer.publicKey)), ...own }],
  });
  const sign = (claims: Record<string, unknown>, typ = 'at+jwt') =>
    new SignJWT({ iss: url, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: own.kid, typ })
      .sign(signer.privateKey);
  provider.registerGrantType(exchangeGrant, exchangeHandler({ published, sign }), [
    'subject_token',
    'subject_token_type',
    'requested_token_type',
    'audience',
    'resource',
    'scope',
  ]);
  if (identityProvider !== null) {
    const handler = assertionHandler(identityProvider, { url, sign });
    provider.registerGrantType(assertionGrant, handler, ['assertion', 'resource', 'scope']);
  }
  const started: OAuthServer = {
    url,
    host,
    tokenUrl: `${url}/token`,
    journal: [],
    script: null,
    keys: {
      pem: await exportPKCS8(client.privateKey),
      jwk: JSON.stringify({ ...(await exportJWK(client.privateKey)), ...clientKey }),
    },
    sign,
    subjectOf: async (assertion, audience, clientId) => {
      const options = { issuer: url, audience, typ: assertionTyp };
      const { payload } = await jwtVerify(assertion, published, options);
      if (payload.client_id !== clientId) throw new TypeError('another client');
      return payload.sub!;
    },
    verifies: async (token, audience) => {
      try {
        await jwtVerify(token, published, { issuer: url, audience, typ: 'at+jwt' });
        return true;
      } catch {
        return false;
      }
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  server.on('request', (request, response) => {
    if (request.url !== '/token') return take(request, response);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
      started.journal.push({ headers: request.headers, form });
    });
    if (started.script !== null) started.script(request, response);
    else take(request, response);
  });
  return started;
}

interface GrantContext {
  readonly oidc: {
    readonly client: { readonly clientId: string };
    readonly params: Readonly<Record<string, string | undefined>>;
  };
  body: unknown;
  status: number;
}

/** Exchanges tokens of this server (RFC 8693); the client has authenticated before. */
function exchangeHandler({
  published,
  sign,
}: {
  readonly published: JWTVerifyGetKey;
  readonly sign: OAuthServer['sign'];
}) {
  return async (context: GrantContext): Promise<void> => {
    const { subject_token: subject = '', resource, scope } = context.oidc.params;
    const { payload } = await jwtVerify(subject, published, { currentDate: new Date(0) });
    if (context.oidc.params.requested_token_type === assertionType) {
      context.body = await assertionFor(context, payload.sub, sign);
      return;
    }
    const expires_in = 3600;
    context.body = {
      access_token: await sign({
        sub: payload.sub,
        act: { sub: context.oidc.client.clientId },
        aud: resource,
        scope,
        exp: Math.floor(Date.now() / 1000) + expires_in,
      }),
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in,
    };
  };
}

/** The client has the same id at both authorization servers. */
async function assertionFor(
  { oidc: { client, params } }: GrantContext,
  sub: string | undefined,
  sign: OAuthServer['sign'],
): Promise<object> {
  const { audience: aud, resource, scope } = params;
  const exp = Math.floor(Date.now() / 1000) + 300;
  const claims = { sub, aud, resource, scope, exp, client_id: client.clientId };
  return {
    access_token: await sign(claims, assertionTyp),
    issued_token_type: assertionType,
    token_type: 'N_A',
    expires_in: 300,
  };
}

/** Grants a token for the subject of an assertion. */
function assertionHandler(
  identityProvider: OAuthServer,
  { url, sign }: { readonly url: string; readonly sign: OAuthServer['sign'] },
) {
  return async (context: GrantContext): Promise<void> => {
    const { assertion = '', resource, scope } = context.oidc.params;
    const sub = await identityProvider.subjectOf(assertion, url, context.oidc.client.clientId);
    const expires_in = 3600;
    const exp = Math.floor(Date.now() / 1000) + expires_in;
    const access_token = await sign({ sub, aud: resource, scope, exp });
    context.body = { access_token, token_type: 'Bearer', expires_in };
  };
}

function clientsWith(publicKey: object, grants: readonly string[]): object[] {
  const { basic, post, keyed } = oauthClients;
  const machine = {
    grant_types: ['client_credentials', ...grants],
    redirect_uris: [],
    response_types: [],
  };
  return [
    { ...machine, client_id: basic.id, client_secret: basic.secret },
    {
      ...machine,
      client_id: post.id,
      client_secret: post.secret,
      token_endpoint_auth_method: 'client_secret_post',
    },
    {
      ...machine,
      client_id: keyed.id,
      jwks: { keys: [publicKey] },
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
    },
  ];
}
