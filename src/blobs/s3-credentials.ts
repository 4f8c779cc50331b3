/** Knows what requests to a bucket are signed with: a key, or what a pod is given for a while in place of one, asked for again before it ends. */
import { readFile } from 'node:fs/promises';
import type { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import { Secret } from '../secret.ts';
import { BlobUnavailable } from './blob-store.ts';

export interface S3Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Null for a key that does not end. */
  readonly sessionToken: Secret | null;
}

/** Where they come from. */
export type S3CredentialsSource =
  | ({ readonly kind: 'key' } & S3Key)
  /** A token of the pod, for which STS gives those of a role. */
  | {
      readonly kind: 'webIdentity';
      readonly sts: URL;
      readonly roleArn: string;
      /** Its content is renewed by others. */
      readonly tokenFile: string;
    }
  /** An agent beside the pod. */
  | { readonly kind: 'container'; readonly address: URL; readonly tokenFile: string | null };

export interface S3CredentialsMeans {
  readonly proxies: Proxies | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface Given {
  readonly key: S3Key;
  /** Others are asked for from then on. */
  readonly renewAt: number;
  readonly endsAt: number;
}

/** Before they end, or a quarter of their time. */
const marginMsMax = 5 * 60_000;
const limits = {
  connectionsMax: 1,
  ...{ connectTimeoutMs: 5_000, responseTimeoutMs: 10_000 },
  responseBytesMax: 64 * 1024,
};

/** Dispose closes what is open. */
export class S3Credentials implements AsyncDisposable {
  readonly #source: S3CredentialsSource;
  readonly #means: S3CredentialsMeans;
  #given: Given | null = null;
  /** By all who need them meanwhile. */
  #asking: Promise<Given> | null = null;
  #opening: Promise<Pools> | null = null;

  constructor(source: S3CredentialsSource, means: S3CredentialsMeans) {
    this.#source = source;
    this.#means = means;
  }

  /** @throws BlobUnavailable */
  async key(): Promise<S3Key> {
    if (this.#source.kind === 'key') return this.#source;
    const given = this.#given;
    const now = this.#means.now();
    if (given !== null && now < given.renewAt) return given.key;
    this.#asking ??= this.#ask(this.#source).finally(() => {
      this.#asking = null;
    });
    try {
      this.#given = await this.#asking;
      return this.#given.key;
    } catch (error) {
      // Those that are there go on as long as they are good.
      if (given !== null && now < given.endsAt) return given.key;
      throw error;
    }
  }

  /** The bucket says that they have ended; whether there may be others. */
  renew(): boolean {
    this.#given = null;
    return this.#source.kind !== 'key';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opening)?.destroy();
  }

  /** An agent beside the pod is behind no proxy. */
  #pools(): Promise<Pools> {
    const proxies = this.#source.kind === 'container' ? null : this.#means.proxies;
    this.#opening ??= import('../remote/pools.ts').then(({ Pools }) => new Pools(limits, proxies));
    return this.#opening;
  }

  #ask(source: Exclude<S3CredentialsSource, { kind: 'key' }>): Promise<Given> {
    return source.kind === 'webIdentity'
      ? this.#assumeRole(source)
      : this.#askContainer(source.address, source.tokenFile);
  }

  async #assumeRole({
    sts,
    roleArn,
    tokenFile,
  }: Extract<S3CredentialsSource, { kind: 'webIdentity' }>): Promise<Given> {
    const token = await tokenIn('AWS_WEB_IDENTITY_TOKEN_FILE', tokenFile);
    const text = await this.#text(sts, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        ...{ Action: 'AssumeRoleWithWebIdentity', Version: '2011-06-15', RoleArn: roleArn },
        ...{ RoleSessionName: 'gatewright', WebIdentityToken: token },
      }).toString(),
    });
    // XML from every service of the kind; JSON from that of AWS alone.
    const said = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1];
    const names = ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'];
    return this.#givenBy(sts, names.map(said));
  }

  async #askContainer(address: URL, tokenFile: string | null): Promise<Given> {
    const token =
      tokenFile === null
        ? null
        : await tokenIn('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', tokenFile);
    const headers: Record<string, string> = token === null ? {} : { authorization: token };
    const text = await this.#text(address, { method: 'GET', headers, body: null });
    let said: Readonly<Record<string, unknown>>;
    try {
      said = Object(JSON.parse(text));
    } catch {
      throw new BlobUnavailable(`${address.origin} gives no credentials: it answers no JSON`);
    }
    const names = ['AccessKeyId', 'SecretAccessKey', 'Token', 'Expiration'];
    return this.#givenBy(
      address,
      names.map((name) => said[name]),
    );
  }

  #givenBy({ origin }: URL, said: readonly unknown[]): Given {
    const [accessKeyId, secretAccessKey, sessionToken, expiration] = said.map(String) as [
      ...[string, string, string, string],
    ];
    const endsAt = Date.parse(expiration);
    if (said.includes(undefined) || Number.isNaN(endsAt)) {
      throw new BlobUnavailable(`${origin} gives no credentials: a part of them is missing`);
    }
    const now = this.#means.now();
    return {
      key: {
        accessKeyId,
        secretAccessKey: new Secret(secretAccessKey, origin),
        sessionToken: new Secret(sessionToken, origin),
      },
      ...{ endsAt, renewAt: endsAt - Math.min(marginMsMax, (endsAt - now) / 4) },
    };
  }

  async #text(
    url: URL,
    asked: {
      readonly method: 'GET' | 'POST';
      readonly headers: Record<string, string>;
      readonly body: string | null;
    },
  ): Promise<string> {
    const { origin, pathname, search } = url;
    const pools = await this.#pools();
    const told = { origin, path: pathname + search, ...asked };
    const answer = await pools
      .poolFor(origin)
      .request(told)
      .then(async ({ statusCode, body }) => ({ statusCode, text: await body.text() }))
      .catch((cause: NodeJS.ErrnoException) => {
        const reason = `is out of reach${pools.describeRoute(origin)} (${cause.code ?? 'no answer'})`;
        throw new BlobUnavailable(`What gives credentials for the bucket, ${origin}, ${reason}`, {
          cause,
        });
      });
    if (answer.statusCode === 200) return answer.text;
    const [, code] = /<Code>(\w{1,64})<\/Code>/.exec(answer.text) ?? [];
    const reason = code === undefined ? answer.statusCode : `${answer.statusCode}, ${code}`;
    throw new BlobUnavailable(`${origin} gives no credentials for the bucket (${reason})`);
  }
}

/** Read each time: whoever has put it there puts another before it ends. */
async function tokenIn(setting: string, path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new BlobUnavailable(`${setting}: the file cannot be read (${code})`, { cause });
  }
}
