/** Knows the requests of one conversation with an MCP server: guarded, and bounded together in time and in bytes. */
import type { Dispatcher } from 'undici';
import { McpUnreachable } from '../model/mcp-found.ts';
import { outboundUrlFault } from '../model/outbound-url.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { Call } from '../upstream/call.ts';
import { AddressRefused } from '../upstream/guarded-connect.ts';
import type { Origins } from '../upstream/origins.ts';

export interface CallMeans {
  readonly origins: Origins;
  readonly trusted: TrustedHosts;
  /** For all of the conversation. */
  readonly timeoutMs: number;
}

export interface AskedCall {
  readonly url: URL;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Record<string, string>;
  readonly body: string | null;
}

const bytesMax = 8 * 1024 * 1024;

/** Dispose ends what is under way. */
export class BoundedCalls implements Disposable {
  readonly #means: CallMeans;
  readonly #timer: NodeJS.Timeout;
  readonly #open = new Set<Call>();
  #bytes = 0;
  #ended: McpUnreachable | null = null;
  /** Of the last answer. */
  #status: number | null = null;

  constructor(means: CallMeans) {
    this.#means = means;
    const { timeoutMs } = means;
    const late = `the server was not done within ${timeoutMs / 1000} seconds`;
    this.#timer = setTimeout(() => this.#end(this.failure(late)), timeoutMs);
  }

  get status(): number | null {
    return this.#status;
  }

  failure(message: string, cause?: unknown): McpUnreachable {
    return new McpUnreachable(message, this.#status, { cause });
  }

  /** Resolves when the answer begins. @throws McpUnreachable */
  async begin({ url, method, headers, body }: AskedCall): Promise<Call> {
    if (this.#ended !== null) throw this.#ended;
    const fault = outboundUrlFault(url.href, this.#means.trusted);
    if (fault !== null) throw this.failure(`the address ${fault}`);
    const call = new Call(this.#means.origins.at(url.origin), {
      ...{ origin: url.origin, path: url.pathname + url.search, method, headers },
      body: body === null ? null : Buffer.from(body),
      // What there is of time is for all calls together.
      silenceTimeoutMs: 0,
    });
    this.#open.add(call);
    try {
      await call.begun;
    } catch (error) {
      throw this.#reasonOf(error);
    }
    this.#status = call.status;
    return call;
  }

  /**
   * Hands over what comes until `take` says that it has enough, or it has ended. What is left is cut off.
   *
   * @throws McpUnreachable
   */
  async read(call: Call, take: (chunk: Buffer) => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    call.pipe({
      data: (chunk) => {
        try {
          this.#count(chunk);
          if (take(chunk)) resolve();
        } catch (error) {
          const isOurs = error instanceof McpUnreachable;
          reject(isOurs ? error : this.failure('the server says what cannot be read', error));
        }
        return true;
      },
      end: resolve,
      fail: (error) => reject(this.#reasonOf(error)),
    });
    try {
      await promise;
    } finally {
      this.drop(call);
    }
  }

  async readWhole(call: Call): Promise<string> {
    const chunks: Buffer[] = [];
    await this.read(call, (chunk) => {
      chunks.push(chunk);
      return false;
    });
    return Buffer.concat(chunks).toString();
  }

  drop(call: Call): void {
    this.#open.delete(call);
    call.cut(new McpUnreachable('it is not needed any more', null));
  }

  [Symbol.dispose](): void {
    this.#end(this.failure('the conversation is over'));
  }

  #end(failure: McpUnreachable): void {
    clearTimeout(this.#timer);
    this.#ended ??= failure;
    for (const call of this.#open) call.cut(this.#ended);
    this.#open.clear();
  }

  #count(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= bytesMax) return;
    throw this.failure(`the server says more than ${bytesMax} bytes`);
  }

  #reasonOf(error: unknown): McpUnreachable {
    if (error instanceof McpUnreachable) return error;
    if (error instanceof AddressRefused) return this.failure(error.message, error);
    const { code = 'no answer' } = error as NodeJS.ErrnoException;
    return this.failure(`the server cannot be reached (${code})`, error);
  }
}
