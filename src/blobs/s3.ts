/** Stores blobs in a bucket of an S3-compatible service, split into objects that are signed and sent one by one. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import type { Dispatcher } from 'undici';
import type { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import { type BlobKey, type BlobStore, BlobUnavailable, namesOf, repack } from './blob-store.ts';
import { S3Credentials, type S3CredentialsSource } from './s3-credentials.ts';

export interface S3Location {
  /** Address of the service; the bucket is the first part of the path. */
  readonly endpoint: URL;
  readonly region: string;
  readonly bucket: string;
  /** Prefix of all object names: '' or `gatewright/`. */
  readonly prefix: string;
  readonly credentials: S3CredentialsSource;
}

/**
 * Every S3-compatible service can put, get, list and delete objects. Multipart uploads are not used: some
 * services cannot list them, so parts of a killed process would remain unseen.
 */
const objectBytes = 4 * 1024 * 1024;
/** Also enough for an error or a list of 1,000 names. */
const responseBytesMax = objectBytes + 1024 * 1024;
const connectionsMax = 64;
const triesMax = 3;
const pauseMs = 200;

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Object name in the bucket; '' for the bucket itself. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

interface S3Response {
  readonly status: number;
  readonly body: Buffer;
}

export class S3 implements BlobStore {
  readonly #location: S3Location;
  readonly #proxies: Proxies | null;
  readonly #credentials: S3Credentials;
  #opening: Promise<Pools> | null = null;

  /** @param now returns milliseconds since the epoch */
  constructor(location: S3Location, proxies: Proxies | null, now: () => number) {
    this.#location = location;
    this.#proxies = proxies;
    this.#credentials = new S3Credentials(location.credentials, { proxies, now });
  }

  /** Loaded on first use. */
  #pools(): Promise<Pools> {
    this.#opening ??= import('../remote/pools.ts').then(({ Pools }) => {
      const limits = {
        connectionsMax,
        connectTimeoutMs: 5_000,
        responseTimeoutMs: 30_000,
        responseBytesMax,
      };
      return new Pools(limits, this.#proxies);
    });
    return this.#opening;
  }

  async write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<void> {
    const folder = this.#folderOf(key);
    let number = 0;
    for await (const body of repack(pieces, objectBytes)) {
      const response = await this.#request({ method: 'PUT', name: folder + nameOf(number), body });
      if (response.status !== 200) throw this.#failure('does not accept an object', response);
      number += 1;
    }
  }

  async *read(key: BlobKey, bytes: number): AsyncGenerator<Buffer, void> {
    const folder = this.#folderOf(key);
    for (let number = 0; number * objectBytes < bytes; number += 1) {
      const response = await this.#request({ method: 'GET', name: folder + nameOf(number) });
      if (response.status !== 200) throw this.#failure('does not return an object', response);
      const expected = Math.min(objectBytes, bytes - number * objectBytes);
      if (response.body.length !== expected) {
        throw new BlobUnavailable(`An object of the bucket ${this.#location.bucket} is truncated`);
      }
      yield response.body;
    }
  }

  /** Lists the objects first, because an interrupted write may have left any of them. */
  async delete(key: BlobKey): Promise<void> {
    const prefix = this.#folderOf(key);
    let hasMore = true;
    while (hasMore) {
      const query = { 'list-type': '2', prefix };
      const listed = await this.#request({ method: 'GET', name: '', query });
      if (listed.status !== 200) throw this.#failure('does not list its objects', listed);
      const text = listed.body.toString('utf8');
      const names = [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name]) => name!);
      for (const name of names) await this.#deleteOne(name);
      hasMore = names.length > 0 && text.includes('<IsTruncated>true</IsTruncated>');
    }
  }

  async #deleteOne(name: string): Promise<void> {
    const response = await this.#request({ method: 'DELETE', name });
    if ([200, 204, 404].includes(response.status)) return;
    throw this.#failure('does not delete an object', response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#credentials[Symbol.asyncDispose]();
    await (await this.#opening)?.destroy();
  }

  #folderOf(key: BlobKey): string {
    return `${this.#location.prefix}${namesOf(key).join('/')}/`;
  }

  /** All requests are safe to repeat. */
  async #request(request: S3Request): Promise<S3Response> {
    for (let tries = 1; ; tries += 1) {
      const response = await this.#send(request).catch((error: Error) => error);
      const isTransient =
        response instanceof Error ||
        response.status >= 500 ||
        response.status === 429 ||
        (hasExpired(response) && this.#credentials.renew());
      if (!isTransient) return response;
      if (tries < triesMax) {
        await delay(pauseMs * 2 ** tries);
        continue;
      }
      if (!(response instanceof Error)) return response;
      if (response instanceof BlobUnavailable) throw response;
      const { origin } = this.#location.endpoint;
      const { code = 'no response' } = response as NodeJS.ErrnoException;
      const reason = `is out of reach${(await this.#pools()).describeRoute(origin)} (${code})`;
      throw new BlobUnavailable(`The bucket at ${origin} ${reason}`, { cause: response });
    }
  }

  async #send({ method, name, query, body }: S3Request): Promise<S3Response> {
    const { endpoint, region, bucket } = this.#location;
    const { accessKeyId, secretAccessKey, sessionToken } = await this.#credentials.key();
    const url = new URL(endpoint);
    url.pathname = `${endpoint.pathname.replace(/\/$/, '')}/${bucket}${name && `/${name}`}`;
    url.search = new URLSearchParams(query).toString();
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      region,
      service: 's3',
      accessKeyId,
      secretAccessKey: secretAccessKey.reveal(),
      ...(sessionToken === null ? {} : { sessionToken: sessionToken.reveal() }),
      headers: {
        'x-amz-content-sha256': createHash('sha256')
          .update(body ?? '')
          .digest('hex'),
      },
    });
    const { headers } = await signer.sign();
    // undici sets it from the URL.
    headers.delete('host');
    const pools = await this.#pools();
    const response = await pools.poolFor(url.origin).request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: method as Dispatcher.HttpMethod,
      headers: { ...Object.fromEntries(headers), 'user-agent': 'gatewright' },
      body: body ?? null,
    });
    return { status: response.statusCode, body: Buffer.from(await response.body.arrayBuffer()) };
  }

  #failure(problem: string, response: S3Response): BlobUnavailable {
    const code = codeOf(response);
    const reason = code === undefined ? String(response.status) : `${response.status}, ${code}`;
    return new BlobUnavailable(`The bucket ${this.#location.bucket} ${problem} (${reason})`);
  }
}

/** Error code in the response of the service. */
function codeOf({ body }: S3Response): string | undefined {
  return /<Code>(\w{1,64})<\/Code>/.exec(body.toString('utf8', 0, 4_096))?.[1];
}

/** Whether the service rejects the temporary credentials of a pod. */
function hasExpired(response: S3Response): boolean {
  if (response.status !== 400 && response.status !== 403) return false;
  return ['ExpiredToken', 'InvalidToken', 'TokenRefreshRequired'].includes(codeOf(response) ?? '');
}

function nameOf(number: number): string {
  return String(number).padStart(4, '0');
}
