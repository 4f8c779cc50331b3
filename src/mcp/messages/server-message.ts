/** Verifies that a message of a server has only the members that its rules read, so that no text passes beside them. */
import { digitsOf } from '../../model/json/exact-numbers.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { RpcObject } from './read-messages.ts';

const requestMembers: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);
const responseMembers: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'result', 'error']);

/** Methods of servers whose names carry no text. */
const serverMethods: ReadonlySet<unknown> = new Set([
  'elicitation/create',
  'notifications/cancelled',
  'notifications/elicitation/complete',
  'notifications/message',
  'notifications/progress',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/subscriptions/acknowledged',
  'notifications/tasks',
  'notifications/tasks/status',
  'notifications/tools/list_changed',
  'ping',
  'roots/list',
  'sampling/createMessage',
]);

/** Whether the message is a request, a notification or a response of JSON-RPC, and nothing more. */
export function isPlainMessage(message: RpcObject): boolean {
  const { jsonrpc, id, method, params, result, error } = message;
  if ((jsonrpc ?? '2.0') !== '2.0' || !isId(id)) return false;
  const allowed = method === undefined ? responseMembers : requestMembers;
  if (!Object.keys(message).every((name) => allowed.has(name))) return false;
  if (method !== undefined) {
    return typeof method === 'string' && (params === undefined || isObject(params));
  }
  return isObject(result) !== isObject(error) && !('result' in message && 'error' in message);
}

function isId(id: unknown): boolean {
  if (id === undefined || id === null || digitsOf(id) !== null) return true;
  return typeof id === 'string' || typeof id === 'number';
}

/** Texts of a message beside its parameters: the name of an unknown method, and an id that its server has chosen. */
export function textsBeside({ id, method }: RpcObject): string[] {
  const texts: string[] = [];
  if (typeof method === 'string' && !serverMethods.has(method)) texts.push(method);
  const digits = typeof id === 'string' ? id : digitsOf(id);
  if (digits !== null) texts.push(digits);
  return texts;
}
