/** Knows how an MCP server is talked to over streamable HTTP: each message is a request of its own. */
import type { Call } from '../upstream/call.ts';
import { EventReader } from '../upstream/dialects/event-reader.ts';
import type { BoundedCalls } from './bounded-calls.ts';
import { answerTo, isAnswerTo, type Message, messagesIn } from './messages.ts';
import { refusal, typeOf, type Wire } from './wire.ts';

export class HttpWire implements Wire {
  protocolVersion: string | null = null;
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #calls: BoundedCalls;
  #session: string | null = null;

  constructor(url: URL, headers: Record<string, string>, calls: BoundedCalls) {
    this.#url = url;
    this.#headers = headers;
    this.#calls = calls;
  }

  async ask(id: number, text: string): Promise<Message> {
    const call = await this.#post(text);
    const session = call.headers['mcp-session-id'];
    if (typeof session === 'string') this.#session = session;
    const isStream = typeOf(call.headers) === 'text/event-stream';
    const found = isStream
      ? await this.#inStream(call, id)
      : messagesIn(await this.#calls.readWhole(call)).find((one) => isAnswerTo(one, id));
    if (found === undefined) throw this.#calls.failure('the server does not answer as MCP has it');
    return found;
  }

  async tell(text: string): Promise<void> {
    this.#calls.drop(await this.#post(text));
  }

  async leave(): Promise<void> {
    if (this.#session === null) return;
    const call = await this.#send('DELETE', null);
    this.#calls.drop(call);
  }

  async #inStream(call: Call, id: number): Promise<Message | undefined> {
    const reader = new EventReader();
    let found: Message | undefined;
    await this.#calls.read(call, (chunk) => {
      reader.push(chunk, (data) => {
        for (const message of messagesIn(data)) {
          if (isAnswerTo(message, id)) found ??= message;
          const answer = answerTo(message);
          if (answer !== null) void this.tell(answer).catch(() => undefined);
        }
      });
      return found !== undefined;
    });
    return found;
  }

  async #post(text: string): Promise<Call> {
    const call = await this.#send('POST', text);
    if (call.status >= 200 && call.status < 300) return call;
    this.#calls.drop(call);
    throw refusal(this.#calls, call.status);
  }

  #send(method: 'POST' | 'DELETE', body: string | null): Promise<Call> {
    const headers = {
      ...this.#headers,
      accept: 'application/json, text/event-stream',
      ...(body !== null && { 'content-type': 'application/json' }),
      ...(this.#session !== null && { 'mcp-session-id': this.#session }),
      ...(this.protocolVersion !== null && { 'mcp-protocol-version': this.protocolVersion }),
    };
    return this.#calls.begin({ url: this.#url, method, headers, body });
  }
}
