/** Reads the requests of a batch before it is created: those in its body, or the lines of its file at the provider. */
import type { Limit } from '../../ledger/limit.ts';
import { isObject } from '../../model/json/read-object.ts';
import { Call, CallCut } from '../../upstream/call.ts';
import type { Origins } from '../../upstream/origins.ts';
import {
  type AdmittedBatch,
  type BatchedRequest,
  boundBatch,
  unbounded,
} from '../metering/batch-bound.ts';
import { authorizedCall } from '../targets/authorized-call.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { bytesOf } from '../transfer/body-pieces.ts';
import { linesOf } from '../transfer/lines.ts';
import { errorOf } from './attempt.ts';

type Params = Readonly<Record<string, unknown>>;

/** Bound of a file, larger than providers accept. */
const fileBytesMax = 512 * 1024 * 1024;

/**
 * Bounds a batch that limits count; null when none does.
 *
 * @throws GatewayError when a hard limit applies and the batch cannot be bounded
 */
export async function admittedBatch(
  target: ResolvedTarget,
  limits: readonly Limit[],
  origins: Origins,
  now: number,
): Promise<AdmittedBatch | null> {
  const counted = limits.filter(({ type }) => type !== 'requests');
  if (counted.length === 0) return null;
  try {
    // Its results are read by a job, which knows the providers of workspaces only.
    if (target.workspaceProvider === null) throw unbounded('no provider of a workspace is named');
    return await boundBatch(batchRequests(target, origins), target, now);
  } catch (thrown) {
    if (counted.some(({ isHard }) => isHard)) throw thrown;
    return null;
  }
}

/** @throws GatewayError for requests that cannot be read */
async function* batchRequests(
  target: ResolvedTarget,
  origins: Origins,
): AsyncGenerator<BatchedRequest> {
  const { requests, input_file_id: file } = target.params;
  if (Array.isArray(requests)) {
    for (const one of requests) yield messageOf(one);
    return;
  }
  if (typeof file !== 'string') throw unbounded('it names no input_file_id');
  let number = 0;
  for await (const line of fileLines(target, origins, file)) {
    number += 1;
    yield requestIn(line, number);
  }
}

function messageOf(one: unknown): BatchedRequest {
  const params = isObject(one) && isObject(one.params) ? one.params : {};
  return { path: '/messages', params, bytes: Buffer.byteLength(JSON.stringify(params)) };
}

function requestIn(line: string, number: number): BatchedRequest {
  const { url, body } = parsedLine(line, number);
  if (typeof url !== 'string' || !isObject(body)) {
    throw unbounded(`line ${number} of its file has no url or no body`);
  }
  return { path: url.replace(/^\/v1(?=\/)/, ''), params: body, bytes: Buffer.byteLength(line) };
}

function parsedLine(line: string, number: number): Params {
  try {
    const parsed: unknown = JSON.parse(line);
    // Another reader could find another value in a member that is repeated or escaped.
    if (isObject(parsed) && hasOneReading(line, parsed)) return parsed;
  } catch {
    // The line is no JSON.
  }
  throw unbounded(`line ${number} of its file is not an object with members that occur once`);
}

/** Compares the number of names in the line with the number of members that the parser found. */
function hasOneReading(line: string, parsed: object): boolean {
  return namesIn(line) === membersIn(parsed);
}

/** Strings of valid JSON that a colon follows. */
function namesIn(line: string): number {
  let names = 0;
  for (let at = line.indexOf('"'); at >= 0; at = line.indexOf('"', at)) {
    at = endOfString(line, at + 1) + 1;
    while (blanks.has(line[at]!)) at += 1;
    if (line[at] === ':') names += 1;
  }
  return names;
}

const blanks = new Set([' ', '\t', '\r', '\n']);

function endOfString(line: string, from: number): number {
  let at = from;
  while (at < line.length && line[at] !== '"') at += line[at] === '\\' ? 2 : 1;
  return at;
}

function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, one) => sum + membersIn(one), own);
}

/** Only the account that creates the batch is asked. */
async function* fileLines(
  target: ResolvedTarget,
  origins: Origins,
  file: string,
): AsyncGenerator<string> {
  const authorized = await authorizedCall(target);
  const path = authorized.path.replace(
    /\/batches(?=$|\?)/,
    `/files/${encodeURIComponent(file)}/content`,
  );
  const { 'content-type': _, 'content-length': __, ...headers } = authorized.headers;
  const request = { ...authorized, path, headers, method: 'GET', body: null } as const;
  const call = new Call(origins.at(authorized.origin), request);
  await call.responseStarted.catch((thrown: unknown) => {
    throw errorOf(thrown, target);
  });
  let isDone = false;
  try {
    if (call.status !== 200) throw unbounded(`the provider returned ${call.status} for its file`);
    let bytes = 0;
    for await (const line of linesOf(bytesOf(call))) {
      bytes += line.length;
      if (bytes > fileBytesMax) throw unbounded('its file is too large');
      yield line;
    }
    isDone = true;
  } finally {
    if (!isDone) call.cut(new CallCut('the file is not needed'));
  }
}
