/** Reads manifests and blobs from a registry of images, and sends requests to it. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Failure } from '../failure.ts';
import { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import type { ManifestSource } from './manifest-source.ts';
import type { OciDescriptor } from './oci-documents.ts';
import { parseManifest, requireDigest } from './oci-layout.ts';
import { ReleaseFault } from './release-fault.ts';
import { documentBytesMax } from './release-files.ts';
import { mediaTypes } from './release-names.ts';

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

const manifestTypes = `${mediaTypes.index}, ${mediaTypes.manifest}`;
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

/** A repository and, where named, a tag or digest of it. */
export interface ImageReference {
  readonly host: string;
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: string | null;
}

/** Null when the text is no reference with a registry: `host[:port]/repository[:tag][@digest]`. */
export function parseImageReference(text: string): ImageReference | null {
  const pattern =
    /^(?<host>(?:localhost|[\w.-]+\.[\w-]+|\[[0-9a-f:]+\])(?::\d+)?)\/(?<repository>[a-z0-9._/-]+)(?::(?<tag>[\w.-]{1,128}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/;
  const { host, repository, tag, digest } = pattern.exec(text)?.groups ?? {};
  if (host === undefined || repository === undefined) return null;
  return { host, repository, tag: tag ?? null, digest: digest ?? null };
}

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
    throw new Failure(
      'unreachable',
      `${this.#base.host} refuses the credentials (${again.status})`,
    );
  }

  /** The descriptor and bytes of a tag or digest; null when there is none. */
  async manifest(reference: string): Promise<{ descriptor: OciDescriptor; bytes: Buffer } | null> {
    const path = `manifests/${reference}`;
    const { status, headers, bytes } = await this.send({
      method: 'GET',
      path,
      headers: { accept: manifestTypes },
    });
    if (status === 404) return null;
    if (status !== 200) throw this.#refused(path, status);
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const mediaType = String(headers['content-type']);
    return { descriptor: { mediaType, digest, size: bytes.length }, bytes };
  }

  /** @throws ReleaseFault when the registry has no such blob or other bytes */
  async blob(descriptor: OciDescriptor): Promise<Buffer> {
    const path = `blobs/${descriptor.digest}`;
    const { status, bytes } = await this.send({ method: 'GET', path });
    if (status === 404) throw new ReleaseFault(`the blob ${descriptor.digest} is missing`);
    if (status !== 200) throw this.#refused(path, status);
    requireDigest(descriptor, bytes);
    return bytes;
  }

  /** From the API of referrers, or from the tag that stands in for it. */
  async referrers(digest: string): Promise<readonly OciDescriptor[]> {
    const { status, bytes } = await this.send({ method: 'GET', path: `referrers/${digest}` });
    if (status === 200) return parseManifest(bytes, 'the list of referrers').manifests ?? [];
    const tagged = await this.manifest(digest.replace(':', '-'));
    return tagged === null ? [] : (parseManifest(tagged.bytes, 'the tag').manifests ?? []);
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
      if (redirects === redirectsMax) throw this.#refused(path, response.status);
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
      throw new Failure('unreachable', `${this.#base.host} demands credentials`);
    }
    const address = new URL(realm);
    if (address.protocol !== this.#base.protocol && address.protocol !== 'https:') {
      throw new Failure(
        'unreachable',
        `${this.#base.host} asks for credentials at an address without TLS`,
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

  #refused(path: string, status: number): Failure {
    return new Failure('unreachable', `${this.#base.host}/${path} answered ${status}`);
  }
}

/** Verifies a reference in a registry. Layers are left to the engine, which verifies what it pulls. */
export function registrySource(client: RegistryClient, reference: ImageReference): ManifestSource {
  return {
    roots: async () => {
      const name = reference.digest ?? reference.tag ?? 'latest';
      const found = await client.manifest(name);
      if (found === null) throw new ReleaseFault(`the registry has no ${name}`);
      if (reference.digest !== null && found.descriptor.digest !== reference.digest) {
        throw new ReleaseFault(`the registry sent ${found.descriptor.digest} instead`);
      }
      return [{ descriptor: found.descriptor, tag: reference.tag }];
    },
    read: async (descriptor) => {
      if (!isManifest(descriptor)) return await client.blob(descriptor);
      const found = await client.manifest(descriptor.digest);
      if (found === null) throw new ReleaseFault(`the manifest ${descriptor.digest} is missing`);
      requireDigest(descriptor, found.bytes);
      return found.bytes;
    },
    verifyBlob: async () => {},
    referrers: async (digest) => await client.referrers(digest),
  };
}

function isManifest({ mediaType }: OciDescriptor): boolean {
  return mediaType === mediaTypes.index || mediaType === mediaTypes.manifest;
}
