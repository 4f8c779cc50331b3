/** Turns requests of a legacy server into questions with keys, and the client's answers into responses. */
import { isObject } from '../../model/json/read-object.ts';
import { requestedCapability } from '../messages/declared-capabilities.ts';
import type { RpcId } from '../messages/plane-fault.ts';
import { idKey, type RpcObject } from '../messages/read-messages.ts';

/** Ids of servers with this form are keys as they are. */
const keyPattern = /^[A-Za-z][\w.-]{0,63}$/;
/** A server that asks more at once has its further requests refused. */
const questionsMax = 32;

interface Question {
  readonly id: RpcId;
  /** As the client receives it. */
  readonly input: RpcObject;
}

export class ServerQuestions {
  readonly #declared: RpcObject;
  readonly #open = new Map<string, Question>();
  #count = 0;

  /** @param declared capabilities of the client */
  constructor(declared: RpcObject) {
    this.#declared = declared;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** Questions without an answer, by key. */
  get inputRequests(): RpcObject {
    return Object.fromEntries([...this.#open].map(([key, { input }]) => [key, input]));
  }

  /** Whether the client can answer such a request, and there is room for it. */
  accepts({ method }: RpcObject): boolean {
    const capability = requestedCapability(method);
    return (
      capability !== null &&
      this.#declared[capability] !== undefined &&
      this.#open.size < questionsMax
    );
  }

  add({ id, method, params }: RpcObject): void {
    this.#count += 1;
    const own = typeof id === 'string' && keyPattern.test(id) && !this.#open.has(id) ? id : null;
    this.#open.set(own ?? `${requestedCapability(method)}:${this.#count}`, {
      id: id as RpcId,
      input: { method, params: inputParams(params) },
    });
  }

  /** Removes the question that the server has cancelled by such a notification. */
  withdraw({ method, params }: RpcObject): void {
    if (method !== 'notifications/cancelled' || !isObject(params)) return;
    for (const [key, { id }] of this.#open)
      if (idKey(id) === idKey(params.requestId)) this.#open.delete(key);
  }

  /** Removes the questions that are answered, and returns the responses for the server. */
  answer(inputResponses: RpcObject): RpcObject[] {
    const responses: RpcObject[] = [];
    for (const [key, { id }] of this.#open) {
      const answer = Object.hasOwn(inputResponses, key) ? inputResponses[key] : undefined;
      if (!isObject(answer)) continue;
      const { resultType: _, ...result } = answer;
      responses.push({ jsonrpc: '2.0', id, result });
      this.#open.delete(key);
    }
    return responses;
  }

  /** Removes all questions, and returns the errors that end them for the server. */
  refuse(reason: string): RpcObject[] {
    const responses = [...this.#open.values()].map(({ id }) => ({
      jsonrpc: '2.0',
      id,
      error: { code: -32000, message: reason },
    }));
    this.#open.clear();
    return responses;
  }
}

/** Without members that only the legacy era has. */
function inputParams(params: unknown): RpcObject {
  if (!isObject(params)) return {};
  const { elicitationId: _, task: __, _meta: ___, ...own } = params;
  return own;
}
