/** Knows how one message is posted to a receiver outside, and whether another try may help. */
import type { Clock } from '../../clock.ts';
import { Pools } from '../../remote/pools.ts';
import type { Proxies } from '../../remote/proxies.ts';
import { retryAfterMs } from '../server/repeat.ts';

export interface Message {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** Whether an answer that is an error says that it was known already. */
  readonly isKnown?: ((status: number, text: string) => boolean) | undefined;
}

export type Attempt =
  | { readonly kind: 'delivered' }
  /** Another try would come to the same. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** `waitMs` is what the receiver asks for, null where it says nothing. */
  | { readonly kind: 'mayPass'; readonly reason: string; readonly waitMs: number | null };

export interface PostOptions {
  readonly clock: Clock;
  /** Sent as `user-agent`. */
  readonly agent: string;
  /** PEM of the authorities to trust instead of the public ones. */
  readonly ca?: string | undefined;
  /** By which receivers are reached; none when absent. */
  readonly proxies?: Proxies | null | undefined;
  /** Longest that one try takes. */
  readonly timeoutMs?: number | undefined;
}

const tryMsMax = 10_000;
const waitMsMax = 900_000;
/** What is looked at of an answer. */
const answerBytesMax = 16 * 1024;

/** Sockets to receivers; dispose cuts them off. Redirects are not followed: they would carry the token along. */
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
        // A try has its own end; what is read of an answer is counted.
        responseTimeoutMs: timeout,
        responseBytesMax: -1,
        tls: ca === undefined ? {} : { ca },
      },
      options.proxies ?? null,
    );
  }

  /** Never rejects. */
  async send({ url, headers, body, isKnown }: Message, stop: AbortSignal): Promise<Attempt> {
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
        // It has it. What else it says may take for ever.
        answer.body.on('error', () => undefined).destroy();
        return { kind: 'delivered' };
      }
      const text = await startOf(answer.body);
      if (isKnown?.(status, text) === true) return { kind: 'delivered' };
      const asked = answer.headers['retry-after'];
      const waitMs = typeof asked === 'string' ? retryAfterMs(asked, clock.now(), waitMsMax) : null;
      const reason = `it answers ${status}`;
      if (status < 400)
        return { kind: 'refused', reason: `${reason}, and redirects are not followed` };
      // Who asks for a pause with a 403 limits the pace (GitHub does).
      const mayPass = status >= 500 || [408, 425, 429].includes(status) || waitMs !== null;
      return mayPass ? { kind: 'mayPass', reason, waitMs } : { kind: 'refused', reason };
    } catch (error) {
      const reason = late.aborted
        ? `it did not answer within ${timeoutMs / 1000} s`
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

/** Of texts of the network library none is told: what was sent may stand in them. */
function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}
