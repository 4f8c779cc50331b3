/** Knows how a test gets an identity provider: the real oidc-provider, at which whoever is chosen signs in at once. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import Provider from 'oidc-provider';

export interface OpenIdIssuer extends AsyncDisposable {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What it says of each account, by subject. */
  readonly accounts: Map<string, Record<string, unknown>>;
  /** Who signs in next. */
  subject: string;
  /** In place of the provider, for one that is ill. */
  answer: RequestListener | null;
  /** A token as the provider signs them. */
  sign(claims: Record<string, unknown>, type: string): Promise<string>;
}

const clientId = 'gatewright';
const clientSecret = 'secret-of-the-client-canary';

/** @param redirectUri where it sends people back */
export async function startOpenIdIssuer(redirectUri: string): Promise<OpenIdIssuer> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: Pick<OpenIdIssuer, 'subject' | 'answer'> = { subject: '', answer: null };
  const accounts = new Map<string, Record<string, unknown>>();
  const provider = createProvider(url, { key, redirectUri, accounts });
  const take = provider.callback();
  server.on('request', (request, response) => {
    if (issuer.answer !== null) return issuer.answer(request, response);
    if (!request.url!.startsWith('/interaction/')) return take(request, response);
    const result = { login: { accountId: issuer.subject }, consent: {} };
    provider.interactionFinished(request, response, result).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  return Object.assign(issuer, {
    ...{ url, clientId, clientSecret, accounts },
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
    readonly redirectUri: string;
    readonly accounts: ReadonlyMap<string, Record<string, unknown>>;
  },
): Provider {
  const provider: Provider = new Provider(url, {
    clients: [
      {
        ...{ client_id: clientId, client_secret: clientSecret },
        ...{ redirect_uris: [of.redirectUri], token_endpoint_auth_method: 'client_secret_post' },
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
    loadExistingGrant: async ({ oidc }: { oidc: Asking }) => {
      const grant = new provider.Grant({
        ...{ clientId: oidc.client.clientId, accountId: oidc.session.accountId },
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
  return provider;
}

interface Asking {
  readonly client: { readonly clientId: string };
  readonly session: { readonly accountId: string };
}
