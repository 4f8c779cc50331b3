/** Sends messages to a legacy client: one response as JSON, or several messages as events. */
import { writeResponseHead } from '../../http/responses/response-head.ts';
import { writeServerMessage } from '../messages/server-json.ts';
import { eventOf } from '../streams/event-output.ts';
import type { BridgePort } from './bridge-port.ts';

type ReplyPort = Pick<BridgePort, 'response' | 'output' | 'headers' | 'onStream'>;

export class LegacyReply implements Disposable {
  readonly #port: ReplyPort;
  #isStream = false;

  constructor(port: ReplyPort) {
    this.#port = port;
  }

  /** Whether the response is a stream by now. */
  get isStream(): boolean {
    return this.#isStream;
  }

  /** Begins a stream, which stays open while the client answers questions. */
  begin(): void {
    if (this.#isStream) return;
    this.#isStream = true;
    const { response, output, headers, onStream } = this.#port;
    onStream();
    writeResponseHead(response, 200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      ...headers,
    });
    response.flushHeaders();
    output.start();
  }

  /** @throws PlaneFault for a message that is nested too deeply */
  async send(message: unknown): Promise<void> {
    const text = await writeServerMessage(message);
    this.begin();
    await this.#port.output.write(eventOf(text));
  }

  /** Sends the last message; null for none, as after a cancellation. @throws PlaneFault */
  async end(message: unknown, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const { response, headers } = this.#port;
    if (this.#isStream || message === null) {
      if (message === null) this.begin();
      else await this.send(message);
      response.end();
      return;
    }
    const body = await writeServerMessage(message);
    writeResponseHead(response, 200, {
      'content-type': 'application/json',
      'content-length': String(body.length),
      ...headers,
      ...more,
    });
    response.end(body);
  }

  /** Accepts a message that has no response. */
  accept(): void {
    const { response, headers } = this.#port;
    writeResponseHead(response, 202, { ...headers, 'content-length': '0' });
    response.end();
  }

  /** Confirms the end of a session; clients report any status but 200 and 204 as a failure. */
  confirm(): void {
    const { response, headers } = this.#port;
    writeResponseHead(response, 204, headers);
    response.end();
  }

  [Symbol.dispose](): void {
    this.#port.output[Symbol.dispose]();
  }
}
