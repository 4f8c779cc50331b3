/** Sends requests to a registry of images, with the token that it demands. */
import { z } from 'zod';
import { Failure } from '../failure.ts';
import { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import type { ImageReference } from './image-reference.ts';
import { documentBytesMax } from './release-files.ts';

export interface RegistryAccess {
  /** Null to read anonymously. */
  readonly credentials: { readonly user: string; readonly password: string } | null;
  /** Actions of the token: `pull` or `pull,push`. */
  readonly actions: 'pull' | 'pull,push';
  readonly proxies: Proxies | null;
}

export interface RegistryRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** Below the repository, or a whole address that the registry named. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface RegistryResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

const poolLimits = {
  connectionsMax: 4,
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 60_000,
  responseBytesMax: documentBytesMax,
};
const redirectsMax = 5;
const TokenDocument = z.object({
  token: z.string().optional(),
  access_token: z.string().optional(),
});

export class RegistryClient implements AsyncDisposable {
  readonly #base: URL;
  readonly #repository: string;
  readonly #access: RegistryAccess;
  readonly #pools: Pools;
  #authorization: string | null = null;

  constructor({ host, repository }: ImageReference, access: RegistryAccess) {
    const isOfMachine = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/.test(host);
    this.#base = new URL(`${isOfMachine ? 'http' : 'https'}://${host}/v2/${repository}/`);
    this.#repository = repository;
    this.#access = access;
    this.#pools = new Pools(poolLimits, access.proxies);
  }

  get host(): string {
    return this.#base.host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools.destroy();
  }

  /**
   * Sends a request, with a token when the registry demands one, and follows redirects.
   *
   * @throws Failure (unreachable) when the registry does not answer or refuses the credentials
   */
  async send(request: RegistryRequest): Promise<RegistryResponse> {
    const response = await this.#sendOnce(request);
    if (response.status !== 401) return response;
    this.#authorization = await this.#authorize(String(response.headers['www-authenticate'] ?? ''));
    const again = await this.#sendOnce(request);
    if (again.status !== 401 && again.status !== 403) return again;
    throw new Failure('unreachable', `${this.host} refuses the credentials (${again.status})`);
  }

  async #sendOnce({
    method,
    path,
    headers = {},
    body,
  }: RegistryRequest): Promise<RegistryResponse> {
    let address = new URL(path, this.#base);
    for (let redirects = 0; ; redirects += 1) {
      const isOfRegistry = address.origin === this.#base.origin;
      const authorization =
        isOfRegistry && this.#authorization !== null ? { authorization: this.#authorization } : {};
      const response = await this.#dispatch(
        address,
        method,
        { ...headers, ...authorization },
        body,
      );
      const { location } = response.headers;
      if (response.status < 301 || response.status > 308 || typeof location !== 'string') {
        return response;
      }
      if (redirects === redirectsMax) {
        throw new Failure('unreachable', `${this.host} redirects too often`);
      }
      address = new URL(location, address);
    }
  }

  async #dispatch(
    address: URL,
    method: RegistryRequest['method'],
    headers: Record<string, string>,
    body: Buffer | undefined,
  ): Promise<RegistryResponse> {
    const { origin, pathname, search } = address;
    try {
      const response = await this.#pools.poolFor(origin).request({
        origin,
        method,
        path: pathname + search,
        headers: { 'user-agent': 'gatewright', ...headers },
        body: body ?? null,
      });
      const bytes = Buffer.from(await response.body.arrayBuffer());
      return { status: response.statusCode, headers: response.headers, bytes };
    } catch (error) {
      const route = this.#pools.describeRoute(origin);
      const message = `${origin} cannot be reached${route}: ${(error as Error).message}`;
      throw new Failure('unreachable', message, { cause: error });
    }
  }

  /** Obtains a token as the challenge of the registry demands. */
  async #authorize(challenge: string): Promise<string> {
    const { credentials, actions } = this.#access;
    const basic =
      credentials &&
      `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}`;
    if (/^basic\b/i.test(challenge) && basic !== null) return basic;
    const parameterOf = (name: string): string | null =>
      new RegExp(`[ ,]${name}="([^"]*)"`, 'i').exec(challenge)?.[1] ?? null;
    const realm = parameterOf('realm');
    if (!/^bearer\b/i.test(challenge) || realm === null || !URL.canParse(realm)) {
      throw new Failure('unreachable', `${this.host} demands credentials`);
    }
    const address = new URL(realm);
    if (address.protocol !== this.#base.protocol && address.protocol !== 'https:') {
      throw new Failure(
        'unreachable',
        `${this.host} asks for credentials at an address without TLS`,
      );
    }
    address.searchParams.set('scope', `repository:${this.#repository}:${actions}`);
    const service = parameterOf('service');
    if (service !== null) address.searchParams.set('service', service);
    const headers: Record<string, string> = basic === null ? {} : { authorization: basic };
    const { status, bytes } = await this.#dispatch(address, 'GET', headers, undefined);
    const document = status === 200 ? TokenDocument.safeParse(JSON.parse(bytes.toString())) : null;
    const token = document?.data?.token ?? document?.data?.access_token;
    if (token !== undefined) return `Bearer ${token}`;
    throw new Failure('unreachable', `${address.host} gives no token (${status})`);
  }
}
