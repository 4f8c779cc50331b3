/** Provides the `fetch` of one conversation with an MCP server: guarded addresses, bounded total time and size. */
import type { FetchLike } from '@modelcontextprotocol/client';
import type { Dispatcher } from 'undici';
import { McpUnreachableError } from '../model/mcp/mcp-discovery.ts';
import { outboundUrlFault } from '../model/services/outbound-url.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { Call } from '../upstream/call.ts';
import { AddressRefused } from '../upstream/guarded-connect.ts';
import type { Origins } from '../upstream/origins.ts';

export interface GuardedFetchOptions {
  readonly origins: Origins;
  readonly trusted: TrustedHosts;
  /** Sent with every request, unless MCP defines the header; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** For the whole conversation. */
  readonly timeoutMs: number;
  /** Statuses whose responses are read although they are errors; none by default. */
  readonly readStatuses?: ReadonlySet<number>;
}

const bytesMax = 8 * 1024 * 1024;
/** Statuses whose responses have no body. */
const emptyStatuses = [204, 205, 304];

/** The first failure ends the conversation; dispose ends all requests in flight. */
export class GuardedFetch implements Disposable {
  readonly #options: GuardedFetchOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #calls = new Set<Call>();
  readonly #ended = new AbortController();
  #bytes = 0;
  #failure: McpUnreachableError | null = null;
  #status: number | null = null;

  constructor(options: GuardedFetchOptions) {
    this.#options = options;
    const { timeoutMs } = options;
    this.#timer = setTimeout(
      () => this.#fail(`the server did not finish within ${timeoutMs / 1000} seconds`),
      timeoutMs,
    );
  }

  /** Status of the last response; null before the first. */
  get status(): number | null {
    return this.#status;
  }

  /** The failure that ended the conversation. */
  get failure(): McpUnreachableError | null {
    return this.#failure;
  }

  /** Aborted by the first failure, which is the reason. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** @throws McpUnreachableError also for each status that is not a success */
  readonly fetch: FetchLike = async (url, { method = 'GET', headers, body, signal } = {}) => {
    this.#ended.signal.throwIfAborted();
    const call = this.#start(new URL(url), method, new Headers(headers), body);
    signal?.addEventListener('abort', () => this.#drop(call), { once: true });
    try {
      await call.responseStarted;
    } catch (error) {
      throw this.#fail(reasonOf(error), error);
    }
    const { status } = call;
    this.#status = status;
    const isRead = this.#options.readStatuses?.has(status) === true;
    if (!isRead && (status < 200 || status >= 300)) {
      this.#drop(call);
      throw this.#fail(`the server responds with ${status}${explanationOf(status)}`);
    }
    const responseHeaders = new Headers();
    for (const [name, value] of Object.entries(call.headers)) {
      if (value !== undefined) responseHeaders.set(name, String(value));
    }
    const isEmpty = emptyStatuses.includes(status);
    if (isEmpty) this.#drop(call);
    const stream = isEmpty ? null : this.#streamOf(call, method === 'GET');
    return new Response(stream, { status, headers: responseHeaders });
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const call of this.#calls) this.#drop(call);
  }

  #start(url: URL, method: string, headers: Headers, body: unknown): Call {
    const fault = outboundUrlFault(url.href, this.#options.trusted);
    if (fault !== null) throw this.#fail(`the address ${fault}`);
    const call = new Call(this.#options.origins.at(url.origin), {
      origin: url.origin,
      path: url.pathname + url.search,
      method: method as Dispatcher.HttpMethod,
      headers: { ...this.#options.headers, ...Object.fromEntries(headers) },
      body: typeof body === 'string' ? Buffer.from(body) : null,
      // The time limit applies to all requests together.
      silenceTimeoutMs: 0,
    });
    this.#calls.add(call);
    return call;
  }

  /** @param isEndless an SSE stream, which the server must not end */
  #streamOf(call: Call, isEndless: boolean): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        call.pipe({
          data: (chunk) => {
            this.#bytes += chunk.length;
            if (!this.#calls.has(call)) return true;
            if (this.#bytes <= bytesMax) controller.enqueue(chunk);
            else controller.error(this.#fail(`the server sends more than ${bytesMax} bytes`));
            return true;
          },
          end: () => {
            if (!this.#calls.delete(call)) return;
            if (isEndless) controller.error(this.#fail('the server has ended its stream'));
            else controller.close();
          },
          fail: (error) => {
            // The SDK drops responses that it does not need.
            const isDropped = !this.#calls.has(call);
            controller.error(isDropped ? error : this.#fail(reasonOf(error), error));
          },
        });
      },
      cancel: () => this.#drop(call),
    });
  }

  #drop(call: Call): void {
    this.#calls.delete(call);
    call.cut(new McpUnreachableError('the response is not needed', null));
  }

  /** Records the first failure and returns it. */
  #fail(message: string, cause?: unknown): McpUnreachableError {
    if (this.#failure === null) {
      this.#failure = new McpUnreachableError(message, this.#status, { cause });
      this.#ended.abort(this.#failure);
      for (const call of this.#calls) call.cut(this.#failure);
      this.#calls.clear();
    }
    return this.#failure;
  }
}

function explanationOf(status: number): string {
  if (status === 401 || status === 403) return ': it rejects these credentials';
  return status >= 300 && status < 400 ? ': redirects are not followed' : '';
}

function reasonOf(error: unknown): string {
  if (error instanceof McpUnreachableError || error instanceof AddressRefused) return error.message;
  const { code = 'no response' } = error as NodeJS.ErrnoException;
  return `the server cannot be reached (${code})`;
}
