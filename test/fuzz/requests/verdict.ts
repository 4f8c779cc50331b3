/** Judges a response to a generated request: no server error, the documented form, no secret. */
import type { AnswerSchemas } from './answer-schemas.ts';
import type { SentAnswer } from './send-draft.ts';

export type Plane = 'admin' | 'inference' | 'mcp' | 'metrics';

export interface JudgedRequest {
  readonly plane: Plane;
  readonly method: string;
  /** Path without query, as sent. */
  readonly path: string;
  /** Statuses of the route's own, for example 502 of a route that calls another server. */
  readonly statuses: readonly string[];
}

/**
 * Server errors that report another server's failure: 502 and 504. Realtime and unknown methods are 501. A full
 * process (503) is none that a fuzzer may cause.
 */
const foreignFaults = [501, 502, 504];
/** Refusals before a route is known: of framing, headers, methods and media types. */
const early = [400, 404, 405, 406, 408, 413, 414, 415, 417, 421, 431];

/** Returns what is wrong with the response; empty when nothing is. */
export function faultsOfAnswer(
  one: JudgedRequest,
  answer: SentAnswer,
  schemas: AnswerSchemas,
  canaries: readonly string[],
): string[] {
  const { status, headers, text } = answer;
  const whole = `${JSON.stringify(headers)}${text}`;
  const leaked = canaries.filter((canary) => whole.includes(canary));
  const faults = leaked.map((canary) => `leaks ${canary.slice(0, 10)}…`);
  if (isServerFault(one, status)) faults.push(`${status} is unexpected`);
  if (status < 200 && status !== 101) faults.push(`${status} is no final status`);
  const isJson = /^application\/(?:\w+\+)?json/.test(String(headers['content-type'] ?? ''));
  const isEncoded = headers['content-encoding'] !== undefined;
  if (isEncoded || (!isJson && text !== '')) return faults;
  if (one.method === 'HEAD' || status === 304) return faults;
  const read = readJson(text);
  if (read === null) return [...faults, `${status} has a body that is no JSON`];
  const fault = faultOfForm(one, status, read.value, schemas);
  return fault === null ? faults : [...faults, fault];
}

function isServerFault({ plane, statuses }: JudgedRequest, status: number): boolean {
  if (status < 500) return false;
  if (plane === 'admin') return status === 503 || !statuses.includes(String(status));
  return plane === 'metrics' || !foreignFaults.includes(status);
}

function readJson(text: string): { readonly value: unknown } | null {
  if (text === '') return { value: '' };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

function faultOfForm(
  { plane, method, path, statuses }: JudgedRequest,
  status: number,
  body: unknown,
  schemas: AnswerSchemas,
): string | null {
  if (plane === 'metrics') return null;
  if (plane === 'mcp') return body === '' ? null : faultOfMcp(status, body);
  // Ambiguous paths are refused before their route is known.
  const isKnown = statuses.includes(String(status)) && !/[^\w./:-]/.test(path);
  const isEarly = early.includes(status) && !isKnown;
  if (isEarly && plane === 'admin') return isError(body) ? null : `${status} is no common error`;
  return schemas.fault(method, path, status, body);
}

/** One of the four forms of errors of the Admin API. */
function isError(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const { error, detail, error_description: description } = body as Record<string, unknown>;
  if (typeof error === 'object' && error !== null) {
    return ['message', 'type', 'param', 'code'].every(
      (name) => typeof (error as Record<string, unknown>)[name] === 'string',
    );
  }
  return typeof detail === 'string' || typeof error === 'string' || typeof description === 'string';
}

/** JSON-RPC messages have a result or an error; refusals before the message have an error. */
function faultOfMcp(status: number, body: unknown): string | null {
  const messages = Array.isArray(body) ? body : [body];
  for (const message of messages) {
    if (typeof message !== 'object' || message === null) return `${status} has no object`;
    const { jsonrpc, result, error } = message as Record<string, unknown>;
    if (jsonrpc === undefined) continue;
    if (jsonrpc !== '2.0') return `${status} has jsonrpc ${JSON.stringify(jsonrpc)}`;
    if ((result === undefined) === (error === undefined)) {
      return `${status} has ${result === undefined ? 'neither a result nor' : 'both a result and'} an error`;
    }
    const isSound =
      error === undefined ||
      (Number.isInteger((error as { code?: unknown }).code) &&
        typeof (error as { message?: unknown }).message === 'string');
    if (!isSound) return `${status} has the error ${JSON.stringify(error)}`;
  }
  return null;
}
