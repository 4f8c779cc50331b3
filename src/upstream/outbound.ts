/** Sends short requests to addresses that users configure: guarded, bounded, and read completely. */
import type { Dispatcher } from 'undici';
import { outboundUrlFault } from '../model/services/outbound-url.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { Call, type ProviderHeaders } from './call.ts';
import type { Origins } from './origins.ts';

export interface OutboundRequest {
  readonly url: string;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  /** Bound from the connection to the last byte. */
  readonly timeoutMs: number;
  /** Bound of the body of the response; 1 MiB by default. */
  readonly answerBytesMax?: number;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: ProviderHeaders;
  readonly body: Buffer;
}

const usualAnswerBytesMax = 1024 * 1024;

/**
 * `refused`: the address is forbidden. `late`: the time is over. `large`: the response is too large. `lost`: the
 * connection failed or broke off.
 */
type OutboundReason = 'refused' | 'late' | 'large' | 'lost';

/** There is no complete response. The message contains nothing of what was sent. */
export class OutboundFailure extends Error {
  override name = 'OutboundFailure';
  readonly reason: OutboundReason;

  constructor(message: string, reason: OutboundReason, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

export class Outbound {
  readonly #origins: Origins;
  readonly #trusted: TrustedHosts;

  constructor(origins: Origins, trusted: TrustedHosts) {
    this.#origins = origins;
    this.#trusted = trusted;
  }

  /** @throws OutboundFailure when there is no complete response */
  async request({
    url,
    method,
    headers,
    body,
    timeoutMs,
    answerBytesMax = usualAnswerBytesMax,
  }: OutboundRequest): Promise<OutboundResponse> {
    const fault = outboundUrlFault(url, this.#trusted);
    if (fault !== null) throw new OutboundFailure(`the address ${fault}`, 'refused');
    const { origin, pathname, search } = new URL(url);
    const call = new Call(this.#origins.at(origin), {
      origin,
      path: pathname + search,
      method,
      headers,
      body,
      silenceTimeoutMs: timeoutMs,
    });
    const timer = setTimeout(() => {
      call.cut(new OutboundFailure(`there was no answer within ${timeoutMs} ms`, 'late'));
    }, timeoutMs);
    try {
      await call.responseStarted;
      const answer = await readWhole(call, answerBytesMax);
      return { status: call.status, headers: call.headers, body: answer };
    } catch (error) {
      if (error instanceof OutboundFailure) throw error;
      const { code = 'no answer' } = error as NodeJS.ErrnoException;
      throw new OutboundFailure(`the address cannot be reached (${code})`, 'lost', {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

function readWhole(call: Call, bytesMax: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  call.pipe({
    data: (chunk) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      else call.cut(new OutboundFailure(`the answer has more than ${bytesMax} bytes`, 'large'));
      return true;
    },
    end: () => resolve(Buffer.concat(chunks)),
    fail: reject,
  });
  return promise;
}
