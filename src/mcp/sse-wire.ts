/** Knows how an MCP server is talked to over SSE: one stream that it speaks on, and an address that it names for answers. */
import type { McpUnreachable } from '../model/mcp-found.ts';
import { EventReader } from '../upstream/dialects/event-reader.ts';
import type { BoundedCalls } from './bounded-calls.ts';
import { answerTo, type Message, messagesIn } from './messages.ts';
import { refusal, typeOf, type Wire } from './wire.ts';

export class SseWire implements Wire {
  protocolVersion: string | null = null;
  readonly #headers: Record<string, string>;
  readonly #calls: BoundedCalls;
  readonly #endpoint: URL;
  readonly #waiting: Map<number, PromiseWithResolvers<Message>>;

  private constructor(parts: {
    readonly headers: Record<string, string>;
    readonly calls: BoundedCalls;
    readonly endpoint: URL;
    readonly waiting: Map<number, PromiseWithResolvers<Message>>;
  }) {
    this.#headers = parts.headers;
    this.#calls = parts.calls;
    this.#endpoint = parts.endpoint;
    this.#waiting = parts.waiting;
  }

  /** Resolves when the server has named the address for answers. @throws McpUnreachable */
  static async open(
    url: URL,
    headers: Record<string, string>,
    calls: BoundedCalls,
  ): Promise<SseWire> {
    const waiting = new Map<number, PromiseWithResolvers<Message>>();
    const call = await calls.begin({
      ...{ url, method: 'GET', body: null },
      headers: { ...headers, accept: 'text/event-stream' },
    });
    if (call.status !== 200) throw refusal(calls, call.status);
    if (typeOf(call.headers) !== 'text/event-stream') {
      throw calls.failure('the server answers with no stream of events, which SSE is');
    }
    const { promise: endpoint, resolve, reject } = Promise.withResolvers<URL>();
    const fail = (error: McpUnreachable): void => {
      reject(error);
      for (const { reject: refuse } of waiting.values()) refuse(error);
    };
    const reader = new EventReader();
    let isFirst = true;
    let heed: ((message: Message) => void) | null = null;
    const take = (data: string): void => {
      // The first event names the address, and none after it does.
      if (isFirst) resolve(endpointOf(data, url, calls));
      else for (const message of messagesIn(data)) heed?.(message);
      isFirst = false;
    };
    calls
      .read(call, (chunk) => {
        reader.push(chunk, take);
        return false;
      })
      .then(() => fail(calls.failure('the server has ended its stream')), fail);
    const opened = new SseWire({ headers, calls, endpoint: await endpoint, waiting });
    heed = (message) => opened.#heed(message);
    return opened;
  }

  async ask(id: number, text: string): Promise<Message> {
    const answer = Promise.withResolvers<Message>();
    this.#waiting.set(id, answer);
    try {
      await Promise.all([this.tell(text), answer.promise]);
      return await answer.promise;
    } finally {
      this.#waiting.delete(id);
    }
  }

  async tell(text: string): Promise<void> {
    const call = await this.#calls.begin({
      ...{ url: this.#endpoint, method: 'POST', body: text },
      headers: { ...this.#headers, 'content-type': 'application/json' },
    });
    this.#calls.drop(call);
    if (call.status < 200 || call.status >= 300) throw refusal(this.#calls, call.status);
  }

  /** The session is the stream, which ends with the calls. */
  async leave(): Promise<void> {}

  #heed(message: Message): void {
    const answer = answerTo(message);
    if (answer !== null) void this.tell(answer).catch(() => undefined);
    else if (typeof message.id === 'number') this.#waiting.get(message.id)?.resolve(message);
  }
}

/** Credentials go nowhere else than where they were given for. */
function endpointOf(text: string, url: URL, calls: BoundedCalls): URL {
  const endpoint = URL.parse(text, url.href);
  if (endpoint?.origin === url.origin) return endpoint;
  throw calls.failure('the server names an address for answers that is not its own');
}
