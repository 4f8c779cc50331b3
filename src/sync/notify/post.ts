/** Posts one message to an external receiver, and tells whether a retry may help. */
import type { Clock } from '../../clock.ts';
import { Pools } from '../../remote/pools.ts';
import type { Proxies } from '../../remote/proxies.ts';
import { parseRetryAfter } from '../server/retry-policy.ts';

export interface OutgoingMessage {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** Returns whether an error response means that the message was received before. */
  readonly isKnown?: ((status: number, text: string) => boolean) | undefined;
}

export type Attempt =
  | { readonly kind: 'delivered' }
  /** A retry would have the same result. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** `waitMs` is what the receiver asks for, or null. */
  | { readonly kind: 'mayPass'; readonly reason: string; readonly waitMs: number | null };

export interface PostOptions {
  readonly clock: Clock;
  /** Value of `user-agent`. */
  readonly agent: string;
  /** PEM of the certificate authorities to trust instead of the public ones. */
  readonly ca?: string | undefined;
  /** Proxies to the receivers; none when absent. */
  readonly proxies?: Proxies | null | undefined;
  /** Timeout of one attempt. */
  readonly timeoutMs?: number | undefined;
}

const tryMsMax = 10_000;
const waitMsMax = 900_000;
/** Part of a response that is read. */
const answerBytesMax = 16 * 1024;

/**
 * Connections to receivers, which disposal closes. Redirects are not followed, because they would
 * carry the token along.
 */
export class Post implements AsyncDisposable {
  readonly #options: PostOptions;
  readonly #pools: Pools;

  constructor(options: PostOptions) {
    const { ca, timeoutMs: timeout = tryMsMax } = options;
    this.#options = options;
    this.#pools = new Pools(
      {
        connectionsMax: 1,
        connectTimeoutMs: timeout,
        idleMs: 1_000,
        // Each attempt has its own timeout, and the size of the response is limited below.
        responseTimeoutMs: timeout,
        responseBytesMax: -1,
        tls: ca === undefined ? {} : { ca },
      },
      options.proxies ?? null,
    );
  }

  /** Never rejects. */
  async send(
    { url, headers, body, isKnown }: OutgoingMessage,
    stop: AbortSignal,
  ): Promise<Attempt> {
    const { timeoutMs = tryMsMax, agent, clock } = this.#options;
    const late = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await this.#pools.poolFor(url.origin).request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'POST',
        headers: { 'user-agent': agent, 'content-type': 'application/json', ...headers },
        body,
        signal: AbortSignal.any([stop, late]),
      });
      const status = answer.statusCode;
      if (status < 300) {
        // The message was received; the rest of the response may never end.
        answer.body.on('error', () => undefined).destroy();
        return { kind: 'delivered' };
      }
      const text = await startOf(answer.body);
      if (isKnown?.(status, text) === true) return { kind: 'delivered' };
      const retryAfter = answer.headers['retry-after'];
      const waitMs =
        typeof retryAfter === 'string' ? parseRetryAfter(retryAfter, clock.now(), waitMsMax) : null;
      const reason = `it responds with ${status}`;
      if (status < 400)
        return { kind: 'refused', reason: `${reason}, and redirects are not followed` };
      // A 403 with `retry-after` is a rate limit (GitHub does this).
      const mayPass = status >= 500 || [408, 425, 429].includes(status) || waitMs !== null;
      return mayPass ? { kind: 'mayPass', reason, waitMs } : { kind: 'refused', reason };
    } catch (error) {
      const reason = late.aborted
        ? `it did not respond within ${timeoutMs / 1000} s`
        : `it cannot be reached (${codeOf(error)})${this.#pools.describeRoute(url.origin)}`;
      return { kind: 'mayPass', reason, waitMs: null };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools.destroy();
  }
}

/** The rest is not read. */
async function startOf(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= answerBytesMax) break;
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Messages of the network library are not passed on, because they may contain what was sent. */
function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}
