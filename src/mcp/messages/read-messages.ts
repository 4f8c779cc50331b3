/** Reads JSON-RPC messages from a request body, and rejects everything that two readers could understand differently. */

import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  digitsOf,
  parseExactJson,
  readExactJson,
  withoutDigits,
} from '../../model/json/exact-numbers.ts';
import { findDuplicateKeys } from '../../model/json/json-object.ts';
import { type JsonBounds, JsonScan, opensMoreThan } from '../../model/json/json-scan.ts';
import { foldedName } from '../../model/json/member-name.ts';
import { isObject } from '../../model/json/read-object.ts';
import { longLengthMin, run, runInTurns } from '../../slices.ts';
import { PlaneFault, type RpcId } from './plane-fault.ts';

export type RpcObject = Readonly<Record<string, unknown>>;

/** One JSON-RPC message of a client. */
export interface ClientMessage {
  readonly kind: 'request' | 'notification' | 'response';
  /** Null for a notification. */
  readonly id: RpcId;
  /** Empty for a response. */
  readonly method: string;
  readonly params: RpcObject;
  /** The whole message, with all digits of its numbers. */
  readonly json: RpcObject;
}

export interface ReceivedMessages {
  readonly isBatch: boolean;
  /** At least one. */
  readonly messages: readonly ClientMessage[];
}

const batchMax = 100;
const methodPattern = /^[\x21-\x7e]{1,128}$/;
const idCharsMax = 512;
/** Bodies from this length on are measured and parsed with turns of the event loop in between. */
const slicedBytesMin = 256 * 1024;

/** @throws PlaneFault */
export async function readMessages(body: Buffer, bounds: JsonBounds): Promise<ReceivedMessages> {
  requirePlainText(body);
  const isShort = body.length <= Math.min(slicedBytesMin, 2 * bounds.valuesMax);
  const isPlain = isShort && !opensMoreThan(body, bounds.depthMax);
  const scan = isPlain ? null : new JsonScan(body, bounds);
  while (scan !== null) {
    const fault = scan.step();
    if (fault !== null) throw new PlaneFault('parse_error', `The JSON body ${fault}`);
    if (scan.isDone) break;
    await nextTurn();
  }
  const isSliced = body.length > slicedBytesMin;
  if (isSliced) await nextTurn();
  const text = body.toString('utf8');
  if (isSliced) await nextTurn();
  const value = await parsed(text);
  if (isSliced) await nextTurn();
  if (await hasDuplicateKeys(body)) {
    throw new PlaneFault('invalid_message', 'The JSON body contains a duplicate member');
  }
  if (!Array.isArray(value)) return { isBatch: false, messages: [messageOf(value)] };
  if (value.length === 0 || value.length > batchMax) {
    throw new PlaneFault('invalid_message', `A batch must have 1 to ${batchMax} messages`);
  }
  const messages = value.map(messageOf);
  const ids = messages.filter(({ kind }) => kind === 'request').map(({ id }) => idKey(id));
  if (new Set(ids).size < ids.length) {
    throw new PlaneFault('invalid_message', 'Two requests of the batch have the same id');
  }
  return { isBatch: true, messages };
}

/** Whether an object in the JSON has two members with one key; in turns for a long text. */
export function hasDuplicateKeys(json: Buffer): boolean | Promise<boolean> {
  return run(findDuplicateKeys(json), json.length >= longLengthMin);
}

/** Distinguishes the number 1 from the text '1', and no number from another one. */
export function idKey(id: unknown): string {
  const key = withoutDigits(id);
  const digits = digitsOf(key);
  return digits === null ? `${typeof key} ${String(key)}` : `number ${digits}`;
}

function requirePlainText(body: Buffer): void {
  const [first, second] = body;
  const hasMark =
    (first === 0xef && second === 0xbb) ||
    (first === 0xfe && second === 0xff) ||
    (first === 0xff && second === 0xfe);
  if (hasMark || !isUtf8(body) || body.includes(0)) {
    throw new PlaneFault('parse_error', 'The body must be UTF-8 without a byte order mark');
  }
}

async function parsed(text: string): Promise<unknown> {
  try {
    const isLong = text.length >= longLengthMin;
    return isLong ? await runInTurns(readExactJson(text)) : parseExactJson(text);
  } catch {
    throw new PlaneFault('parse_error', 'The body is not valid JSON');
  }
}

const messageMembers = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
/** Members of parameters that the gateway evaluates. */
const paramMembers = [
  '_meta',
  'arguments',
  'cursor',
  'inputresponses',
  'name',
  'ref',
  'requeststate',
  'uri',
];
const exactParamMembers = new Set([...paramMembers, 'inputResponses', 'requestState']);

function messageOf(value: unknown): ClientMessage {
  if (!isObject(value)) {
    throw new PlaneFault('invalid_message', 'A JSON-RPC message must be an object');
  }
  refuseTwins(value, messageMembers, new Set(messageMembers));
  if (value.jsonrpc !== '2.0') throw new PlaneFault('invalid_message', 'jsonrpc must be "2.0"');
  const isCall = value.method !== undefined;
  if (isCall === ('result' in value || 'error' in value)) {
    const message = 'A message must have either a method or one of result and error';
    throw new PlaneFault('invalid_message', message);
  }
  return isCall ? callOf(value) : responseOf(value);
}

function callOf(json: RpcObject): ClientMessage {
  const { method, params = {}, id } = json;
  if (typeof method !== 'string' || !methodPattern.test(method)) {
    throw new PlaneFault(
      'invalid_message',
      'method must be a text of at most 128 visible characters',
    );
  }
  refuseMethodTwin(method);
  if (!isObject(params)) throw new PlaneFault('invalid_message', 'params must be an object');
  refuseTwins(params, paramMembers, exactParamMembers);
  if (!('id' in json)) {
    // A server might run a call that expects no response, which nothing would count.
    if (!method.startsWith('notifications/')) {
      throw new PlaneFault('invalid_message', 'A request must have an id');
    }
    return { kind: 'notification', id: null, method, params, json };
  }
  return { kind: 'request', id: requireId(id), method, params, json };
}

/** Methods that the gateway evaluates. */
export const evaluatedMethods: readonly string[] = [
  'completion/complete',
  'initialize',
  'notifications/cancelled',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'server/discover',
  'subscriptions/listen',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tools/call',
  'tools/list',
];
const exactMethods: ReadonlySet<string> = new Set(evaluatedMethods);
const foldedMethods: ReadonlySet<string> = new Set(evaluatedMethods.map(foldedMethod));

/** Without letter case, and without what routers of paths remove or take for `/`. */
function foldedMethod(method: string): string {
  return method.toLowerCase().replaceAll(/[/._:\\-]+/g, '');
}

/** Rejects `Tools/Call`, which a lenient server would run without any rule of the gateway. */
function refuseMethodTwin(method: string): void {
  if (exactMethods.has(method) || !foldedMethods.has(foldedMethod(method))) return;
  throw new PlaneFault('invalid_message', 'method must be spelled exactly');
}

function responseOf(json: RpcObject): ClientMessage {
  if ('result' in json && 'error' in json) {
    throw new PlaneFault('invalid_message', 'A response must have one of result and error');
  }
  // An error may concern a request whose id could not be read.
  const id = json.id === null && 'error' in json ? null : requireId(json.id);
  return { kind: 'response', id, method: '', params: {}, json };
}

function requireId(value: unknown): RpcId {
  const id = withoutDigits(value);
  // Readers with other precision would answer to another id.
  if (typeof id === 'number' && Number.isSafeInteger(id)) return id;
  if (typeof id === 'string' && id.length <= idCharsMax) return id;
  const message = `id must be a safe integer or a text of at most ${idCharsMax} characters`;
  throw new PlaneFault('invalid_message', message);
}

/** Rejects names such as `Method`, which a reader that ignores case would take for another member. */
function refuseTwins(json: RpcObject, folded: readonly string[], exact: ReadonlySet<string>): void {
  for (const name of Object.keys(json)) {
    if (exact.has(name) || !folded.includes(foldedName(name.trim()))) continue;
    throw new PlaneFault('invalid_message', `${JSON.stringify(name)} must be spelled exactly`);
  }
}
