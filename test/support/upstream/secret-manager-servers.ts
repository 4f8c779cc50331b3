/** Starts servers that implement the protocols of secret managers, and records their requests. */
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { text } from 'node:stream/consumers';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

export interface ManagerServer extends AsyncDisposable {
  readonly url: string;
  readonly received: ReceivedRequest[];
}

/** Starts a server that responds with JSON, or with text unchanged. */
export async function startManager(
  answer: (received: ReceivedRequest) => Answer,
): Promise<ManagerServer> {
  const received: ReceivedRequest[] = [];
  const server: Server = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://manager');
    const one = {
      method: request.method!,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: await text(request),
    };
    received.push(one);
    const { status, body } = answer(one);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    received: received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The content of a Vault: mounts with their versions, and secrets by full path. */
export interface VaultContent {
  readonly mounts: Readonly<Record<string, '1' | '2'>>;
  readonly secrets: Record<string, Record<string, unknown>>;
  /** Accepted tokens. */
  readonly tokens: Set<string>;
  /** Whether nobody may read the mounts. */
  readonly hidesMounts?: boolean;
  /** A status that replaces every response. */
  outage?: number;
}

export function startVaultServer(content: VaultContent): Promise<ManagerServer> {
  return startManager(({ method, path, headers, body }) => {
    const requested = decodeURIComponent(path).replace('/v1/', '');
    if (content.outage !== undefined) return { status: content.outage };
    if (method === 'POST' && requested.startsWith('auth/')) return signIn(content, requested, body);
    const denied = { status: 403, body: { errors: ['permission denied'] } };
    if (!content.tokens.has(String(headers['x-vault-token']))) return denied;
    if (requested === 'auth/token/lookup-self') return { status: 200, body: { data: { ttl: 0 } } };
    const inner = /^sys\/internal\/ui\/mounts\/(.*)$/.exec(requested)?.[1];
    if (inner !== undefined) {
      const mount = Object.keys(content.mounts).find((one) => inner.startsWith(one));
      if (mount === undefined || content.hidesMounts) return denied;
      return { status: 200, body: { data: { path: mount, options: versionOf(content, mount) } } };
    }
    const mount = Object.keys(content.mounts).find((one) => requested.startsWith(one)) ?? '';
    const isVersioned = content.mounts[mount] === '2';
    const isRight = !isVersioned || requested.startsWith(`${mount}data/`);
    const name = isVersioned ? requested.replace(`${mount}data/`, mount) : requested;
    const data = isRight ? content.secrets[name] : undefined;
    if (data === undefined) return { status: 404, body: { errors: [] } };
    return { status: 200, body: { data: isVersioned ? { data, metadata: { version: 1 } } : data } };
  });
}

function versionOf({ mounts }: VaultContent, mount: string) {
  return mounts[mount] === '2' ? { version: '2' } : null;
}

/** Signs in the AppRole `role` with the secret id `secret-id`. */
function signIn({ tokens }: VaultContent, path: string, body: string): Answer {
  const { role_id, secret_id } = JSON.parse(body) as Record<string, string>;
  const isRight = path === 'auth/approle/login' && role_id === 'role' && secret_id === 'secret-id';
  if (!isRight) return { status: 400, body: { errors: ['invalid role or secret ID'] } };
  const token = `hvs.made-${tokens.size}`;
  tokens.add(token);
  return {
    status: 200,
    body: { auth: { client_token: token, lease_duration: 3600, renewable: true } },
  };
}

/** Returns the key that signed a request to AWS, or null when the signature is wrong. */
export function signerOf(
  { method, path, query, headers, body }: ReceivedRequest,
  secrets: Readonly<Record<string, string>>,
): string | null {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const parts = pattern.exec(headers.authorization ?? '');
  if (parts === null) return null;
  const [, id = '', day = '', region = '', service = '', names = '', signature = ''] = parts;
  const secret = secrets[id];
  if (secret === undefined) return null;
  const encoded = (value: string) =>
    encodeURIComponent(value).replaceAll(
      /[!'()*]/g,
      (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const canonical = [
    method,
    path,
    [...query]
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .toSorted()
      .join('&'),
    ...names.split(';').map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const moment = String(headers['x-amz-date']);
  const text = ['AWS4-HMAC-SHA256', moment, scope, sha256(canonical)].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<Buffer>(
    (under, part) => hmac(under, part),
    Buffer.from(`AWS4${secret}`),
  );
  return hmac(key, text).toString('hex') === signature ? id : null;
}

function sha256(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

function hmac(key: Buffer, value: string): Buffer {
  return createHmac('sha256', key).update(value).digest();
}
