/** Signs and sends requests to a bucket of an S3-compatible service. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import type { Dispatcher } from 'undici';
import type { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import { BlobUnavailable } from './blob-store.ts';
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

/** The largest object that is written. */
export const objectBytesMax = 4 * 1024 * 1024;
/** Also enough for an error or a list of 1,000 names. */
const responseBytesMax = objectBytesMax + 1024 * 1024;
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

export interface S3Response {
  readonly status: number;
  readonly body: Buffer;
}

export class S3Client implements AsyncDisposable {
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

  /** All requests are safe to repeat. */
  async request(request: S3Request): Promise<S3Response> {
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

  failure(problem: string, response: S3Response): BlobUnavailable {
    const code = codeOf(response);
    const reason = code === undefined ? String(response.status) : `${response.status}, ${code}`;
    return new BlobUnavailable(`The bucket ${this.#location.bucket} ${problem} (${reason})`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#credentials[Symbol.asyncDispose]();
    await (await this.#opening)?.destroy();
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
