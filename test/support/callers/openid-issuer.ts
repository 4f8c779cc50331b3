/**
 * Starts an identity provider: the real oidc-provider, which signs in the selected account at once.
 */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import Provider from 'oidc-provider';

export interface OpenIdIssuer extends AsyncDisposable {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The signing key of the client that authenticates with a key, in the form of the settings. */
  readonly keyClient: { readonly id: string; readonly jwks: string };
  /** The client that sends its secret in a header. */
  readonly basicClient: { readonly id: string; readonly secret: string };
  /** Claims of each account, by subject. */
  readonly accounts: Map<string, Record<string, unknown>>;
  /** For each code exchange, whether the client authenticated in a header. */
  readonly tradedByHeader: boolean[];
  /** The account that signs in next. */
  subject: string;
  /** Answers in place of the provider, to simulate a failure. */
  answer: RequestListener | null;
  /** Key set that the provider publishes in place of its own. */
  publishedKeys: { readonly keys: readonly object[] } | null;
  /** A key set with a key of the same name that has signed nothing. */
  readonly otherKeys: { readonly keys: readonly object[] };
  /** Signs a token like the provider. */
  sign(claims: Record<string, unknown>, type: string): Promise<string>;
}

const clientId = 'gatewright';
const clientSecret = 'secret-of-the-client-canary';
const basicClient = { id: 'gatewright-basic', secret: 'pass:word with %' };

/** @param redirectUri the callback URL of the server */
export async function startOpenIdIssuer(redirectUri: string): Promise<OpenIdIssuer> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const own = await generateKeyPair('ES256', { extractable: true });
  const names = { kid: 'own', alg: 'ES256', use: 'sig' };
  const keyClient = {
    id: 'gatewright-key',
    jwks: JSON.stringify({ keys: [{ ...(await exportJWK(own.privateKey)), ...names }] }),
  };
  const publicKey = { ...(await exportJWK(own.publicKey)), ...names };
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: Pick<OpenIdIssuer, 'subject' | 'answer' | 'publishedKeys'> = {
    subject: '',
    answer: null,
    publishedKeys: null,
  };
  const other = await exportJWK((await generateKeyPair('RS256', { extractable: true })).publicKey);
  const otherKeys = { keys: [{ ...other, kid: 'one', alg: 'RS256', use: 'sig' }] };
  const accounts = new Map<string, Record<string, unknown>>();
  const tradedByHeader: boolean[] = [];
  const provider = createProvider(url, { key, publicKey, redirectUri, accounts });
  const take = provider.callback();
  server.on('request', (request, response) => {
    if (issuer.answer !== null) return issuer.answer(request, response);
    if (request.url === '/token') tradedByHeader.push(request.headers.authorization !== undefined);
    if (request.url === '/jwks' && issuer.publishedKeys !== null) {
      const headers = { 'content-type': 'application/json' };
      return response.writeHead(200, headers).end(JSON.stringify(issuer.publishedKeys));
    }
    if (!request.url!.startsWith('/interaction/')) return take(request, response);
    const result = { login: { accountId: issuer.subject }, consent: {} };
    provider.interactionFinished(request, response, result).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  return Object.assign(issuer, {
    url,
    clientId,
    clientSecret,
    keyClient,
    basicClient,
    accounts,
    tradedByHeader,
    otherKeys,
    sign: (claims: Record<string, unknown>, typ: string) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one', typ }).sign(privateKey),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  });
}

function createProvider(
  url: string,
  of: {
    readonly key: object;
    /** The public key of the client that signs. */
    readonly publicKey: object;
    readonly redirectUri: string;
    readonly accounts: ReadonlyMap<string, Record<string, unknown>>;
  },
): Provider {
  const provider: Provider = new Provider(url, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [of.redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
        application_type: 'native',
      },
      {
        client_id: basicClient.id,
        client_secret: basicClient.secret,
        redirect_uris: [of.redirectUri],
        token_endpoint_auth_method: 'client_secret_basic',
        application_type: 'native',
      },
      {
        client_id: 'gatewright-key',
        jwks: { keys: [of.publicKey] },
        redirect_uris: [of.redirectUri],
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        application_type: 'native',
      },
    ],
    jwks: { keys: [of.key] },
    cookies: { keys: ['of the test'] },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['given_name', 'family_name', 'groups', 'realm'],
    },
    ttl: { Interaction: 3600, Grant: 3600, Session: 3600, AccessToken: 3600, IdToken: 3600 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => ({ sub, ...of.accounts.get(sub) }),
    }),
    loadExistingGrant: async ({ oidc }: { oidc: PendingSignIn }) => {
      const grant = new provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope('openid email profile');
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
