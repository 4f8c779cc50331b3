/** Provides the credentials of a bucket: a fixed key, or temporary ones of a pod that are renewed before they expire. */
/*
 * The credential chain of the AWS SDK is not used: it takes 18 MB of memory when bundled, ignores our proxies, and also
 * reads environment keys, profiles and programs that the settings do not name.
 */
import { type AwsCredentials, type AwsTransport, AwsUnavailable } from '../aws/aws-credentials.ts';
import { type PodIdentity, podCredentials } from '../aws/machine-credentials.ts';
import { RenewedCredentials } from '../aws/renewed-credentials.ts';
import type { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import type { Secret } from '../secret.ts';
import { BlobUnavailable } from './blob-store.ts';

export interface S3Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Null for a key that does not expire. */
  readonly sessionToken: Secret | null;
}

/** Origin of the credentials. */
export type S3CredentialsSource = ({ readonly kind: 'key' } & S3Key) | PodIdentity;

export interface S3CredentialsContext {
  readonly proxies: Proxies | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const limits = {
  connectionsMax: 1,
  connectTimeoutMs: 5_000,
  responseTimeoutMs: 10_000,
  responseBytesMax: 64 * 1024,
};

/** Dispose closes connections. */
export class S3Credentials implements AsyncDisposable {
  readonly #source: S3CredentialsSource;
  readonly #context: S3CredentialsContext;
  readonly #renewed: RenewedCredentials;
  #opening: Promise<Pools> | null = null;

  constructor(source: S3CredentialsSource, context: S3CredentialsContext) {
    this.#source = source;
    this.#context = context;
    this.#renewed = new RenewedCredentials(() => this.#fetch(), context.now);
  }

  /** @throws BlobUnavailable */
  async key(): Promise<S3Key> {
    if (this.#source.kind === 'key') return this.#source;
    try {
      return await this.#renewed.current();
    } catch (error) {
      if (!(error instanceof AwsUnavailable)) throw error;
      const message = `The bucket has no credentials: ${error.message}`;
      throw new BlobUnavailable(message, { cause: error });
    }
  }

  /** Discards credentials that the bucket rejects; returns whether new ones can be requested. */
  renew(): boolean {
    this.#renewed.discard();
    return this.#source.kind !== 'key';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opening)?.destroy();
  }

  /** The agent on the node is reached without a proxy. */
  #pools(): Promise<Pools> {
    const proxies = this.#source.kind === 'container' ? null : this.#context.proxies;
    this.#opening ??= import('../remote/pools.ts').then(({ Pools }) => new Pools(limits, proxies));
    return this.#opening;
  }

  #fetch(): Promise<AwsCredentials> {
    return podCredentials(this.#source as PodIdentity, this.#send);
  }

  readonly #send: AwsTransport = async ({ url, method, headers, body }) => {
    const { origin, pathname, search } = url;
    const pools = await this.#pools();
    try {
      const response = await pools
        .poolFor(origin)
        .request({ origin, path: pathname + search, method, headers, body });
      return { status: response.statusCode, text: await response.body.text() };
    } catch (cause) {
      const { code = 'no response' } = cause as NodeJS.ErrnoException;
      const reason = `is out of reach${pools.describeRoute(origin)} (${code})`;
      const message = `${origin} ${reason}`;
      throw new AwsUnavailable(message, true, { cause });
    }
  };
}
