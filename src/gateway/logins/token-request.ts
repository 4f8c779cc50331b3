/** Requests one access token with OAuth client credentials, over connections that reach no forbidden address. */
import { decodeProtectedHeader } from 'jose';
import type { Configuration, TokenEndpointResponse } from 'openid-client';
import type { Outbound, OutboundResponse } from '../../upstream/outbound.ts';
import type { ClientLogin } from './client-login.ts';
import { clientProof } from './client-proof.ts';
import type { GrantedToken } from './granted-token.ts';

const timeoutMs = 10_000;
/** Statuses whose responses have no body. */
const emptyStatuses = [204, 205, 304];

/** A login with an identity provider first obtains its assertion, which is used once. */
export async function requestToken(
  login: ClientLogin,
  outbound: Pick<Outbound, 'request'>,
  now: number,
): Promise<GrantedToken> {
  const { assertedBy } = login;
  if (assertedBy === null) return await grantOf(login, null, outbound, now);
  const asserted = await grantOf(assertedBy, null, outbound, now);
  if ('fault' in asserted) return { fault: `the identity provider: ${asserted.fault}` };
  return await grantOf(login, asserted.token, outbound, now);
}

async function grantOf(
  login: ClientLogin,
  assertion: string | null,
  outbound: Pick<Outbound, 'request'>,
  now: number,
): Promise<GrantedToken> {
  const { endpoint, clientId } = login;
  const missing = missingFields(login);
  if (missing.length > 0) return { fault: `its configurations have no ${missing.join(', ')}` };
  if (!URL.canParse(endpoint)) return { fault: 'oauth_token_endpoint is not a URL' };
  const proof = await clientProof(login, now);
  if ('fault' in proof) return proof;
  const client = await import('openid-client');
  const { origin: issuer, protocol } = new URL(endpoint);
  const server = { issuer, token_endpoint: endpoint };
  const config = new client.Configuration(server, clientId, {}, proof.prove);
  // Plain HTTP is refused by the address guard except to trusted hosts.
  if (protocol === 'http:') client.allowInsecureRequests(config);
  const exchange = exchangeOver(outbound);
  config[client.customFetch] = exchange.fetch;
  try {
    const granted = await requestGrant(client, config, login, assertion);
    const { access_token: token, expires_in: seconds } = granted;
    if (!/^[\x21-\x7e]+$/.test(token)) return { fault: 'its token cannot be sent as a header' };
    return { token, lifeMs: seconds === undefined ? null : seconds * 1000 };
  } catch (error) {
    return { fault: exchange.fault ?? refusalOf(error, exchange.status) };
  }
}

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const [accessTokenType, idTokenType, assertionTokenType] = [
  'access_token',
  'id_token',
  'id-jag',
].map((name) => `urn:ietf:params:oauth:token-type:${name}`) as [string, string, string];

async function requestGrant(
  client: typeof import('openid-client'),
  config: Configuration,
  { scope, resource, audience, subjectToken, isForAssertion }: ClientLogin,
  assertion: string | null,
): Promise<TokenEndpointResponse> {
  const wanted = { ...(scope !== '' && { scope }), ...(resource !== '' && { resource }) };
  if (assertion !== null) {
    return await client.genericGrantRequest(config, assertionGrant, { ...wanted, assertion });
  }
  if (subjectToken === '') return await client.clientCredentialsGrant(config, wanted);
  return await client.genericGrantRequest(config, exchangeGrant, {
    ...wanted,
    ...(audience !== '' && { audience }),
    subject_token: subjectToken,
    subject_token_type: isForAssertion ? subjectTypeOf(subjectToken) : accessTokenType,
    requested_token_type: isForAssertion ? assertionTokenType : accessTokenType,
  });
}

/** Access tokens name their type (RFC 9068); other tokens of a caller are identity tokens. */
function subjectTypeOf(token: string): string {
  const { typ = '' } = decodeProtectedHeader(token);
  return /^(?:application\/)?at\+jwt$/i.test(typ) ? accessTokenType : idTokenType;
}

function missingFields(login: ClientLogin): string[] {
  const isSigned = login.authMethod === 'private_key_jwt';
  const required = {
    oauth_token_endpoint: login.endpoint,
    oauth_client_id: login.clientId,
    ...(isSigned
      ? { oauth_private_key: login.privateKey }
      : { oauth_client_secret: login.clientSecret }),
  };
  return Object.entries(required).flatMap(([name, value]) => (value === '' ? [name] : []));
}

interface FetchOptions {
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** A `fetch` that records the status, and the fault of an exchange without a response. */
function exchangeOver(outbound: Pick<Outbound, 'request'>) {
  const exchange = {
    status: 0,
    fault: null as string | null,
    fetch: async (url: string, { headers, body }: FetchOptions): Promise<Response> => {
      try {
        const answer = await outbound.request({
          url,
          method: 'POST',
          headers: Object.fromEntries(new Headers(headers)),
          body: Buffer.from(String(body ?? '')),
          timeoutMs,
        });
        exchange.status = answer.status;
        return toFetched(answer);
      } catch (error) {
        exchange.fault = (error as Error).message;
        throw error;
      }
    },
  };
  return exchange;
}

function toFetched({ status, headers, body }: OutboundResponse): Response {
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) sent.set(name, String(value));
  }
  const content = emptyStatuses.includes(status) ? null : new Uint8Array(body);
  return new Response(content, { status, headers: sent });
}

/** Quotes only the registered form of an error code. */
function refusalOf(error: unknown, status: number): string {
  const { error: code } = error as { readonly error?: unknown };
  const isCode = typeof code === 'string' && /^[a-z_]{1,64}$/.test(code);
  if (isCode) return `it refuses the client (${status} ${code})`;
  return status === 200 ? 'its response contains no bearer token' : `it responds with ${status}`;
}
