/** Requests tokens by forms and JSON over connections that reach no forbidden address. */
import type { Outbound } from '../../upstream/outbound.ts';

/** `fault` contains no secret. */
export type GrantedToken =
  | { readonly token: string; readonly lifeMs: number | null }
  | { readonly fault: string };

export type TokenServer = Pick<Outbound, 'request'>;

interface TokenRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Record<string, string>;
  readonly form?: Record<string, string>;
  readonly json?: object;
}

type JsonMembers = Readonly<Record<string, unknown>>;

const timeoutMs = 10_000;

/** Returns the members of a JSON response, or why there are none. */
export async function exchangeJson(
  server: TokenServer,
  { url, method = 'POST', headers = {}, form, json }: TokenRequest,
): Promise<{ readonly body: JsonMembers } | { readonly fault: string }> {
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  const text = form === undefined ? JSON.stringify(json) : new URLSearchParams(form).toString();
  const sent: Record<string, string> = { accept: 'application/json', ...headers };
  if (method === 'POST') sent['content-type'] = type;
  let status: number;
  let body: unknown;
  try {
    const response = await server.request({
      url,
      method,
      headers: sent,
      body: method === 'GET' ? null : Buffer.from(text),
      timeoutMs,
    });
    status = response.status;
    body = parsed(response.body.toString('utf8'));
  } catch (error) {
    return { fault: (error as Error).message };
  }
  const members = typeof body === 'object' && body !== null ? (body as JsonMembers) : null;
  if (status !== 200) return { fault: refusalOf(status, members) };
  return members === null ? { fault: 'its response is not JSON' } : { body: members };
}

/** Requests a token whose response has the members of OAuth. */
export async function requestOAuthToken(
  server: TokenServer,
  request: TokenRequest,
): Promise<GrantedToken> {
  const response = await exchangeJson(server, request);
  return 'fault' in response ? response : tokenIn(response.body);
}

/** Reads `access_token` and `expires_in`, which Azure also writes as text. */
export function tokenIn(body: JsonMembers): GrantedToken {
  const { access_token: token, expires_in: seconds } = body;
  if (typeof token !== 'string' || token === '') return { fault: 'its response contains no token' };
  if (!isHeaderText(token)) return { fault: 'its token cannot be sent as a header' };
  const life = Number(seconds ?? Number.NaN);
  return { token, lifeMs: Number.isFinite(life) && life > 0 ? life * 1000 : null };
}

export function isHeaderText(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

/** Quotes only the registered form of an error code. */
function refusalOf(status: number, body: JsonMembers | null): string {
  const error = body?.error;
  const isCode = typeof error === 'string' && /^[a-z_]{1,64}$/.test(error);
  return isCode ? `it refuses the login (${status} ${error})` : `it responds with ${status}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
