/** Runs one request in a session of the legacy era: its response, and messages on the stream of the session. */
import { setTimeout as delay } from 'node:timers/promises';
import { detach } from '../../detached.ts';
import { CallCut } from '../../upstream/call.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { ServerCall } from '../transfer/response-chunks.ts';
import type { ServerSession } from './legacy-session.ts';
import {
  type MessageSink,
  readResponse,
  requireResponse,
  startOfStream,
} from './legacy-transport.ts';
import { MessageQueue } from './message-queue.ts';

/** Longest wait for the head of a response, and between two chunks of it. */
const silenceMs = 600_000;
/** Time for the server to end its response by itself, so that the connection can be used again. */
const finishMs = 1_000;
/** Streams that are resumed without a message in between. */
const resumptionsMax = 20;

export class SessionCall {
  readonly queue = new MessageQueue();
  readonly id: string;
  readonly #session: ServerSession;
  readonly #first: ServerCall;
  #current: ServerCall;
  #isAnswered = false;
  #isDone = false;

  constructor(session: ServerSession, method: string, params: RpcObject) {
    this.#session = session;
    this.id = session.nextId();
    const take = (message: RpcObject, bytes: number): Promise<void> => {
      this.#isAnswered ||= message.method === undefined && message.id === this.id;
      return this.queue.put(message, bytes);
    };
    session.receiveWith(take);
    this.#first = session.post({ jsonrpc: '2.0', id: this.id, method, params }, silenceMs);
    this.#current = this.#first;
    detach('a call of an MCP server', this.#read());
  }

  /** Whether the server may have received the request. */
  get isSent(): boolean {
    return this.#first.isSent;
  }

  /** No further message is needed. */
  finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#session.receiveWith(null);
    this.queue.end(null);
    const cut = (): void => this.#current.cut(new CallCut('the response is complete'));
    setTimeout(cut, finishMs).unref();
  }

  /** Gives the call up. */
  cancel(reason: string): void {
    this.finish();
    if (!this.#isAnswered) {
      const params = { requestId: this.id, reason };
      this.#session.sendDetached({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    }
    this.#current.cut(new CallCut(reason));
  }

  /** Messages after the end of the call must not reach the next call of the session. */
  async #take(message: RpcObject, bytes: number): Promise<void> {
    if (!this.#isDone) await this.#session.take(message, bytes);
    else if (typeof message.method === 'string' && message.id !== undefined) {
      this.#session.answer(message);
    }
  }

  /** Never rejects: a failure ends the queue. */
  async #read(): Promise<void> {
    try {
      await this.#readAll();
      this.queue.end(null);
    } catch (error) {
      this.queue.end(error as Error);
    }
  }

  /** A server may end a stream before its response, and name an event from which the stream is resumed. */
  async #readAll(): Promise<void> {
    const position = startOfStream();
    let resumptions = 0;
    for (;;) {
      const { lastEventId } = position;
      await requireResponse(this.#current);
      const sink: MessageSink = (message, bytes) => this.#take(message, bytes);
      await readResponse(this.#current, sink, position, this.#session.beginReading());
      if (this.#isAnswered || this.#isDone || position.lastEventId === null) return;
      resumptions = position.lastEventId === lastEventId ? resumptions + 1 : 0;
      if (resumptions > resumptionsMax) {
        throw new PlaneFault('server_unusable', 'The MCP server keeps ending its response');
      }
      await delay(position.retryMs);
      this.#current = this.#session.resume(position.lastEventId);
    }
  }
}
