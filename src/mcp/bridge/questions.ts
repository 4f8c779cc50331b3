/** Turns the input that a modern server requires into requests of the legacy era, and their answers back. */
import { isObject } from '../../model/json/read-object.ts';
import { requestedCapability } from '../messages/declared-capabilities.ts';
import { PlaneFault, serverUnusable } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';

/** A question of the server for the client. */
export interface Question {
  /** The name that the server has given it. */
  readonly name: string;
  readonly method: string;
  readonly params: RpcObject;
}

/** A result of a server that must be completed by answers. */
export interface RequiredInput {
  readonly questions: readonly Question[];
  /** Repeated as it is; undefined for none. */
  readonly state: unknown;
}

const questionsMax = 32;

/** Null for a complete result. @throws PlaneFault for questions that the client cannot answer */
export function requiredInput(result: unknown, capabilities: RpcObject): RequiredInput | null {
  if (!isObject(result) || (result.resultType ?? 'complete') === 'complete') return null;
  if (result.resultType !== 'input_required') {
    throw serverUnusable('its result is of a type that the client cannot use');
  }
  const { inputRequests = {}, requestState: state } = result;
  const entries = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  if (entries.length > questionsMax)
    throw serverUnusable(`it asks more than ${questionsMax} questions`);
  const questions = entries.map(([name, request]) => questionOf(name, request, capabilities));
  // Without questions the server only wants the call again, later.
  if (questions.length === 0 && state === undefined)
    throw serverUnusable('it requires input unnamed');
  return { questions, state };
}

function questionOf(name: string, request: unknown, capabilities: RpcObject): Question {
  const { method, params = {} } = isObject(request) ? request : {};
  const capability = requestedCapability(method);
  if (capability === null || !isObject(params))
    throw serverUnusable('its question has no known form');
  if (capabilities[capability] === undefined) {
    throw serverUnusable(`it asks for ${capability}, which the client does not support`);
  }
  return { name, method: method as string, params };
}

/**
 * The answer as the modern era sends it. A client that rejects a question for its user has cancelled it.
 *
 * @throws PlaneFault for a refusal that the modern era cannot express
 */
export function answerOf({ method }: Question, response: RpcObject): RpcObject {
  const { result } = response;
  if (isObject(result)) return result;
  if (method === 'elicitation/create') return { action: 'cancel' };
  throw new PlaneFault('input_refused', `The client refused ${method}, which the call needs`);
}
