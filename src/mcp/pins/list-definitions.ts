/** Lists the tools or prompts of a server for the gateway itself, with the access of a caller. */

import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { bytesOf } from '../../gateway/transfer/body-pieces.ts';
import { isObject, readJson } from '../../model/json/read-object.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { type Call, CallCut } from '../../upstream/call.ts';
import { StreamEventReader } from '../messages/event-stream.ts';
import { gatewayClient, modernHeaders, modernParams } from '../messages/modern-request.ts';
import { hasDuplicateKeys, type RpcObject } from '../messages/read-messages.ts';
import type { McpEra } from '../messages/verify-headers.ts';

type ListCall = Pick<Call, 'status' | 'headers' | 'pipe' | 'resume' | 'cut'>;

/** The parts of the caller's request that a list needs. */
export interface ListingAccess {
  readonly era: McpEra;
  /** Sends a request with the headers of the integration; `headers` are those of the protocol. */
  send(body: Buffer, headers: Readonly<Record<string, string>>): Promise<ListCall>;
}

export type ListedType = 'tool' | 'prompt';

const methods = { tool: 'tools/list', prompt: 'prompts/list' } as const;
const keys = { tool: 'tools', prompt: 'prompts' } as const;
const pagesMax = 200;
const bytesMax = 8 * 1024 * 1024;
const timeoutMs = 10_000;

/** The server did not list its definitions; the message quotes nothing of it. */
export class ListingFailed extends Error {
  override name = 'ListingFailed';
  /** HTTP status; null when the response was not one of HTTP's errors. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Returns one result with the items of all pages. @throws ListingFailed */
export async function listDefinitions(access: ListingAccess, type: ListedType): Promise<RpcObject> {
  const items: unknown[] = [];
  const deadline = AbortSignal.timeout(timeoutMs);
  let bytesLeft = bytesMax;
  let cursor: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    const { result, bytes } = await requestPage(access, type, { cursor, deadline, bytesLeft });
    bytesLeft -= bytes;
    const listed = result[keys[type]];
    if (!Array.isArray(listed)) throw new ListingFailed('its list has no items');
    for (const item of listed) items.push(item);
    if (typeof result.nextCursor !== 'string') return { [keys[type]]: items };
    cursor = result.nextCursor;
  }
  throw new ListingFailed(`its list has more than ${pagesMax} pages`);
}

interface PageTerms {
  readonly cursor: string | null;
  readonly deadline: AbortSignal;
  readonly bytesLeft: number;
}

async function requestPage(
  access: ListingAccess,
  type: ListedType,
  { cursor, deadline, bytesLeft }: PageTerms,
): Promise<{ readonly result: RpcObject; readonly bytes: number }> {
  const id = `gatewright-${randomUUID()}`;
  const method = methods[type];
  const isModern = access.era === 'modern';
  const plain = cursor === null ? {} : { cursor };
  const params = isModern ? modernParams(plain, gatewayClient) : plain;
  const message = { jsonrpc: '2.0', id, method, params };
  const call = await access.send(
    Buffer.from(JSON.stringify(message)),
    isModern ? modernHeaders(method, params, gatewayClient.version) : {},
  );
  const cut = (): void => call.cut(new CallCut('the server does not list its definitions in time'));
  deadline.addEventListener('abort', cut);
  if (deadline.aborted) cut();
  try {
    return await resultIn(call, id, bytesLeft);
  } catch (error) {
    if (error instanceof ListingFailed) throw error;
    throw new ListingFailed('it breaks off its list', null, { cause: error });
  } finally {
    deadline.removeEventListener('abort', cut);
    call.cut(new CallCut('the list has been read'));
  }
}

/** Reads until the response with the id, so that an open stream does not delay it. */
async function resultIn(
  call: ListCall,
  id: string,
  bytesLeft: number,
): Promise<{ readonly result: RpcObject; readonly bytes: number }> {
  if (call.status !== 200) {
    throw new ListingFailed(`it responds with status ${call.status}`, call.status);
  }
  const isStream = isEventStream(call.headers);
  const reader = new StreamEventReader(bytesMax);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of bytesOf(call)) {
    bytes += piece.length;
    if (bytes > bytesLeft) throw new ListingFailed(`its list has more than ${bytesMax} bytes`);
    if (!isStream) {
      pieces.push(piece);
      continue;
    }
    for (const { data } of reader.push(piece)) {
      const result = data === null ? null : await readResult(Buffer.from(data), id);
      if (result !== null) return { result, bytes };
    }
  }
  const result = isStream ? null : await readResult(Buffer.concat(pieces), id);
  if (result === null) throw new ListingFailed('its response has no list');
  return { result, bytes };
}

/** Null for another message. @throws ListingFailed for an error, and for JSON that two readers could understand differently */
async function readResult(json: Buffer, id: string): Promise<RpcObject | null> {
  const message = isUtf8(json) ? readJson(json.toString('utf8')) : undefined;
  if (!isObject(message) || message.id !== id) return null;
  if (!isObject(message.result)) throw new ListingFailed('it refuses the list');
  if (await hasDuplicateKeys(json)) throw new ListingFailed('its list has a duplicate member');
  return message.result;
}
