/** Knows how bytes lie in a bucket of an S3-compatible service: cut into objects that are sent, signed and checked one by one. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import type { Dispatcher } from 'undici';
import type { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import { type BlobKey, type BlobStore, BlobUnavailable, cut, namesOf } from './blob-store.ts';
import { S3Credentials, type S3CredentialsSource } from './s3-credentials.ts';

export interface S3Place {
  /** Of the service; the bucket is the first name of paths there. */
  readonly endpoint: URL;
  readonly region: string;
  readonly bucket: string;
  /** Before the names of all objects: '' or `gatewright/`. */
  readonly prefix: string;
  readonly credentials: S3CredentialsSource;
}

/**
 * Every service of the kind can put, get, list and delete objects; uploads of many parts, which some
 * cannot list, would leave what nobody sees when a process is killed.
 */
const objectBytes = 4 * 1024 * 1024;
/** Of an error, or of a list of a thousand names. */
const answerBytesMax = objectBytes + 1024 * 1024;
const connectionsMax = 64;
const triesMax = 3;
const pauseMs = 200;

interface Asked {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Within the bucket; '' for the bucket. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export class S3 implements BlobStore {
  readonly #place: S3Place;
  readonly #proxies: Proxies | null;
  readonly #credentials: S3Credentials;
  #opening: Promise<Pools> | null = null;

  /** `now` tells milliseconds since the epoch. */
  constructor(place: S3Place, proxies: Proxies | null, now: () => number) {
    this.#place = place;
    this.#proxies = proxies;
    this.#credentials = new S3Credentials(place.credentials, { proxies, now });
  }

  /** What opens connections is loaded by those who ask the service for something. */
  #pools(): Promise<Pools> {
    this.#opening ??= import('../remote/pools.ts').then(({ Pools }) => {
      const timeouts = { connectTimeoutMs: 5_000, responseTimeoutMs: 30_000 };
      return new Pools({ connectionsMax, ...timeouts, responseBytesMax: answerBytesMax }, this.#proxies);
    });
    return this.#opening;
  }

  async write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<void> {
    const folder = this.#folderOf(key);
    let number = 0;
    for await (const body of cut(pieces, objectBytes)) {
      const answer = await this.#ask({ method: 'PUT', name: folder + nameOf(number), body });
      if (answer.status !== 200) throw this.#refused('is not given what it is to keep', answer);
      number += 1;
    }
  }

  async *read(key: BlobKey, bytes: number): AsyncGenerator<Buffer, void> {
    const folder = this.#folderOf(key);
    for (let number = 0; number * objectBytes < bytes; number += 1) {
      const answer = await this.#ask({ method: 'GET', name: folder + nameOf(number) });
      if (answer.status !== 200) throw this.#refused('does not give what it keeps', answer);
      const whole = Math.min(objectBytes, bytes - number * objectBytes);
      if (answer.body.length !== whole) {
        throw new BlobUnavailable(`An object of the bucket ${this.#place.bucket} is cut off`);
      }
      yield answer.body;
    }
  }

  /** What is there is looked up: what was cut off may have left any of its objects. */
  async delete(key: BlobKey): Promise<void> {
    const prefix = this.#folderOf(key);
    let isMore = true;
    while (isMore) {
      const query = { 'list-type': '2', prefix };
      const listed = await this.#ask({ method: 'GET', name: '', query });
      if (listed.status !== 200) throw this.#refused('does not tell what it keeps', listed);
      const text = listed.body.toString('utf8');
      const names = [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name]) => name!);
      for (const name of names) await this.#deleteOne(name);
      isMore = names.length > 0 && text.includes('<IsTruncated>true</IsTruncated>');
    }
  }

  async #deleteOne(name: string): Promise<void> {
    const answer = await this.#ask({ method: 'DELETE', name });
    if ([200, 204, 404].includes(answer.status)) return;
    throw this.#refused('does not delete what it keeps', answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#credentials[Symbol.asyncDispose]();
    await (await this.#opening)?.destroy();
  }

  #folderOf(key: BlobKey): string {
    return `${this.#place.prefix}${namesOf(key).join('/')}/`;
  }

  /** All that is asked may be asked again. */
  async #ask(asked: Asked): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#send(asked).catch((error: Error) => error);
      const isPassing =
        answer instanceof Error ||
        answer.status >= 500 ||
        answer.status === 429 ||
        (hasEnded(answer) && this.#credentials.renew());
      if (!isPassing) return answer;
      if (tries < triesMax) {
        await delay(pauseMs * 2 ** tries);
        continue;
      }
      if (!(answer instanceof Error)) return answer;
      if (answer instanceof BlobUnavailable) throw answer;
      const { origin } = this.#place.endpoint;
      const { code = 'no answer' } = answer as NodeJS.ErrnoException;
      const reason = `is out of reach${(await this.#pools()).describeRoute(origin)} (${code})`;
      throw new BlobUnavailable(`The bucket at ${origin} ${reason}`, { cause: answer });
    }
  }

  async #send({ method, name, query, body }: Asked): Promise<Answer> {
    const { endpoint, region, bucket } = this.#place;
    const { accessKeyId, secretAccessKey, sessionToken } = await this.#credentials.key();
    const url = new URL(endpoint);
    url.pathname = `${endpoint.pathname.replace(/\/$/, '')}/${bucket}${name && `/${name}`}`;
    url.search = new URLSearchParams(query).toString();
    const signer = new AwsV4Signer({
      ...{ method, url: url.href, region, service: 's3', accessKeyId },
      secretAccessKey: secretAccessKey.reveal(),
      ...(sessionToken === null ? {} : { sessionToken: sessionToken.reveal() }),
      headers: {
        'x-amz-content-sha256': createHash('sha256')
          .update(body ?? '')
          .digest('hex'),
      },
    });
    const { headers } = await signer.sign();
    // The address says it.
    headers.delete('host');
    const pools = await this.#pools();
    const answer = await pools.poolFor(url.origin).request({
      ...{ origin: url.origin, path: url.pathname + url.search },
      method: method as Dispatcher.HttpMethod,
      headers: { ...Object.fromEntries(headers), 'user-agent': 'gatewright' },
      body: body ?? null,
    });
    return { status: answer.statusCode, body: Buffer.from(await answer.body.arrayBuffer()) };
  }

  #refused(what: string, answer: Answer): BlobUnavailable {
    const code = codeOf(answer);
    const reason = code === undefined ? String(answer.status) : `${answer.status}, ${code}`;
    return new BlobUnavailable(`The bucket ${this.#place.bucket} ${what} (${reason})`);
  }
}

/** What the service calls a refusal. */
function codeOf({ body }: Answer): string | undefined {
  return /<Code>(\w{1,64})<\/Code>/.exec(body.toString('utf8', 0, 4_096))?.[1];
}

/** Whether the refusal is of the credentials that a pod was given for a while. */
function hasEnded(answer: Answer): boolean {
  if (answer.status !== 400 && answer.status !== 403) return false;
  return ['ExpiredToken', 'InvalidToken', 'TokenRefreshRequired'].includes(codeOf(answer) ?? '');
}

function nameOf(number: number): string {
  return String(number).padStart(4, '0');
}
