/** Runs the call of a modern client on a legacy server, across all rounds of questions. */
import { detach } from '../../detached.ts';
import { isObject } from '../../model/json/read-object.ts';
import { SessionCall } from '../legacy-sessions/legacy-call.ts';
import type { LeasedSession } from '../legacy-sessions/session-pool.ts';
import { isLogged, type ModernRequest } from '../messages/legacy-request.ts';
import { serverBrokeOff } from '../messages/plane-fault.ts';
import { idKey, type RpcObject } from '../messages/read-messages.ts';
import { ServerQuestions } from './server-questions.ts';

/** One round: the first request, or a retry with answers. */
export interface CallRound {
  readonly request: ModernRequest;
  /** Returns what the rules of the server leave of a message; null for nothing. */
  readonly take: (message: RpcObject) => Promise<unknown>;
  /** Sends a message before the response. */
  readonly notify: (message: RpcObject) => Promise<void>;
}

/** The response of the legacy era; null when the server waits for answers. */
export type RoundOutcome = RpcObject | null;

/** Time in which further questions of a server belong to the same round. */
const gatherMs = 50;

export class AskingCall {
  readonly request: ModernRequest;
  readonly questions: ServerQuestions;
  readonly #leased: LeasedSession;
  readonly #call: SessionCall;
  #isDone = false;

  private constructor(request: ModernRequest, leased: LeasedSession) {
    this.request = request;
    this.#leased = leased;
    this.questions = new ServerQuestions(request.client.capabilities);
    this.#call = new SessionCall(leased.session, request.method, request.params);
  }

  static async start(request: ModernRequest, leased: LeasedSession): Promise<AskingCall> {
    const { capabilities, logLevel } = request.client;
    const mayHear = request.mayAsk && Object.keys(capabilities).length > 0;
    if (mayHear || logLevel !== null) await leased.session.openStream();
    return new AskingCall(request, leased);
  }

  /** The server's answer to `initialize`. */
  get initialized(): RpcObject {
    return this.#leased.session.initialized;
  }

  /** Whether the server may have received the call. */
  get isSent(): boolean {
    return this.#call.isSent;
  }

  /** Passes messages on until the server responds or waits for answers. @throws PlaneFault @throws SessionLost */
  async run(round: CallRound): Promise<RoundOutcome> {
    for (;;) {
      const taken = await this.#call.queue.take(this.questions.isEmpty ? null : gatherMs);
      if (taken.kind === 'silence') return null;
      if (taken.kind === 'end') throw taken.error ?? serverBrokeOff();
      const response = await this.#pass(taken.message, round);
      if (response !== null) return response;
    }
  }

  /** Sends the answers of the client to the server. @throws PlaneFault */
  async answer(inputResponses: RpcObject): Promise<void> {
    const responses = this.questions.answer(inputResponses);
    await Promise.all(responses.map((one) => this.#leased.session.send(one)));
  }

  /** The server has responded. */
  finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    for (const one of this.questions.refuse('The call has ended')) {
      this.#leased.session.sendDetached(one);
    }
    this.#call.finish();
    this.#leased.giveBack();
  }

  /** Gives the call up. The session may be in the middle of anything, so it ends too. */
  cancel(reason: string): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#call.cancel(reason);
    detach('the end of a session of an MCP server', this.#leased.end());
  }

  /** Returns the response that ends the call; null for any other message. */
  async #pass(message: RpcObject, round: CallRound): Promise<RpcObject | null> {
    if (typeof message.method !== 'string') {
      if (message.id !== this.#call.id && !isNamelessError(message)) return null;
      return (await round.take({ ...message, id: round.request.id })) as RpcObject | null;
    }
    if (message.id === undefined) {
      this.questions.withdraw(message);
      const notice = this.#noticeFor(round.request, message);
      const taken = notice === null ? null : await round.take(notice);
      if (taken !== null) await round.notify(taken as RpcObject);
      return null;
    }
    if (!this.request.mayAsk || !this.questions.accepts(message)) {
      this.#leased.session.answer(message);
      return null;
    }
    const question = (await round.take(message)) as RpcObject | null;
    // Rules may end the call because of a question.
    if (question !== null && typeof question.method !== 'string') return question;
    if (question === null) this.#leased.session.answer(message);
    else this.questions.add(question);
    return null;
  }

  /** Streams of calls have progress and, if the client has enabled them, log messages; null for anything else. */
  #noticeFor({ progressToken, client }: ModernRequest, message: RpcObject): RpcObject | null {
    const { method } = message;
    const params = isObject(message.params) ? message.params : {};
    if (method === 'notifications/message') {
      return isLogged(params.level, client.logLevel) ? message : null;
    }
    // The server knows the token of the first request only.
    const isOwn = idKey(params.progressToken) === idKey(this.request.progressToken);
    if (method !== 'notifications/progress' || progressToken === null || !isOwn) return null;
    return { ...message, params: { ...params, progressToken } };
  }
}

function isNamelessError({ id, error }: RpcObject): boolean {
  return (id ?? null) === null && error !== undefined;
}
