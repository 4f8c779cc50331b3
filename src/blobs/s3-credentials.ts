/** Provides the credentials of a bucket: a fixed key, or temporary ones of a pod that are renewed before they expire. */
/*
 * The credential chain of the AWS SDK is not used: it takes 18 MB of memory when bundled, ignores our proxies, and also
 * reads environment keys, profiles and programs that the settings do not name.
 */
import { readFile } from 'node:fs/promises';
import type { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import { Secret } from '../secret.ts';
import { BlobUnavailable } from './blob-store.ts';

export interface S3Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Null for a key that does not expire. */
  readonly sessionToken: Secret | null;
}

/** Origin of the credentials. */
export type S3CredentialsSource =
  | ({ readonly kind: 'key' } & S3Key)
  /** A token of the pod, which STS exchanges for credentials of a role. */
  | {
      readonly kind: 'webIdentity';
      readonly sts: URL;
      readonly roleArn: string;
      /** Kubernetes renews its content. */
      readonly tokenFile: string;
    }
  /** An agent on the node of the pod. */
  | { readonly kind: 'container'; readonly address: URL; readonly tokenFile: string | null };

export interface S3CredentialsContext {
  readonly proxies: Proxies | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface TemporaryKey {
  readonly key: S3Key;
  /** Time of the renewal. */
  readonly renewAt: number;
  readonly expiresAt: number;
}

/** Renewal before the expiry; at most a quarter of the lifetime. */
const marginMsMax = 5 * 60_000;
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
  #current: TemporaryKey | null = null;
  /** Shared by concurrent callers. */
  #pending: Promise<TemporaryKey> | null = null;
  #opening: Promise<Pools> | null = null;

  constructor(source: S3CredentialsSource, context: S3CredentialsContext) {
    this.#source = source;
    this.#context = context;
  }

  /** @throws BlobUnavailable */
  async key(): Promise<S3Key> {
    if (this.#source.kind === 'key') return this.#source;
    const current = this.#current;
    const now = this.#context.now();
    if (current !== null && now < current.renewAt) return current.key;
    this.#pending ??= this.#fetch(this.#source).finally(() => {
      this.#pending = null;
    });
    try {
      this.#current = await this.#pending;
      return this.#current.key;
    } catch (error) {
      // The previous credentials are used until they expire.
      if (current !== null && now < current.expiresAt) return current.key;
      throw error;
    }
  }

  /** Discards credentials that the bucket rejects; returns whether new ones can be requested. */
  renew(): boolean {
    this.#current = null;
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

  #fetch(source: Exclude<S3CredentialsSource, { kind: 'key' }>): Promise<TemporaryKey> {
    return source.kind === 'webIdentity'
      ? this.#assumeRole(source)
      : this.#fetchFromContainer(source.address, source.tokenFile);
  }

  async #assumeRole({
    sts,
    roleArn,
    tokenFile,
  }: Extract<S3CredentialsSource, { kind: 'webIdentity' }>): Promise<TemporaryKey> {
    const token = await tokenIn('AWS_WEB_IDENTITY_TOKEN_FILE', tokenFile);
    const text = await this.#text(sts, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        Action: 'AssumeRoleWithWebIdentity',
        Version: '2011-06-15',
        RoleArn: roleArn,
        RoleSessionName: 'gatewright',
        WebIdentityToken: token,
      }).toString(),
    });
    // All compatible services respond with XML, only AWS with JSON too.
    const textOf = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1];
    const names = ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'];
    return temporaryKeyOf(sts, names.map(textOf), this.#context.now());
  }

  async #fetchFromContainer(address: URL, tokenFile: string | null): Promise<TemporaryKey> {
    const token =
      tokenFile === null
        ? null
        : await tokenIn('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', tokenFile);
    const headers: Record<string, string> = token === null ? {} : { authorization: token };
    const text = await this.#text(address, { method: 'GET', headers, body: null });
    let fields: Readonly<Record<string, unknown>>;
    try {
      fields = Object(JSON.parse(text));
    } catch {
      throw new BlobUnavailable(
        `${address.origin} returns no credentials: the response is not JSON`,
      );
    }
    const names = ['AccessKeyId', 'SecretAccessKey', 'Token', 'Expiration'];
    const values = names.map((name) => fields[name]);
    return temporaryKeyOf(address, values, this.#context.now());
  }

  async #text(
    url: URL,
    request: {
      readonly method: 'GET' | 'POST';
      readonly headers: Record<string, string>;
      readonly body: string | null;
    },
  ): Promise<string> {
    const { origin, pathname, search } = url;
    const pools = await this.#pools();
    const response = await pools
      .poolFor(origin)
      .request({ origin, path: pathname + search, ...request })
      .then(async ({ statusCode, body }) => ({ statusCode, text: await body.text() }))
      .catch((cause: NodeJS.ErrnoException) => {
        const reason = `is out of reach${pools.describeRoute(origin)} (${cause.code ?? 'no response'})`;
        throw new BlobUnavailable(
          `The service for the bucket's credentials, ${origin}, ${reason}`,
          {
            cause,
          },
        );
      });
    if (response.statusCode === 200) return response.text;
    const [, code] = /<Code>(\w{1,64})<\/Code>/.exec(response.text) ?? [];
    const reason = code === undefined ? response.statusCode : `${response.statusCode}, ${code}`;
    throw new BlobUnavailable(`${origin} returns no credentials for the bucket (${reason})`);
  }
}

/** @throws BlobUnavailable when a value is missing */
function temporaryKeyOf({ origin }: URL, values: readonly unknown[], now: number): TemporaryKey {
  const [accessKeyId, secretAccessKey, sessionToken, expiration] = values.map(String) as [
    string,
    string,
    string,
    string,
  ];
  const expiresAt = Date.parse(expiration);
  if (values.includes(undefined) || Number.isNaN(expiresAt)) {
    throw new BlobUnavailable(`${origin} returns no credentials: a field is missing`);
  }
  return {
    key: {
      accessKeyId,
      secretAccessKey: new Secret(secretAccessKey, origin),
      sessionToken: new Secret(sessionToken, origin),
    },
    expiresAt,
    renewAt: expiresAt - Math.min(marginMsMax, (expiresAt - now) / 4),
  };
}

/** Read for each use, because Kubernetes replaces the token before it expires. */
async function tokenIn(setting: string, path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new BlobUnavailable(`${setting}: the file cannot be read (${code})`, { cause });
  }
}
