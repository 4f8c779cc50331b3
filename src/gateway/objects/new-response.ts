/** Prepares a request for a response: adds the previous turns, and records the new response. */
import { isObject } from '../../model/json/read-object.ts';
import { isObjectId, newObjectId } from '../../objects/object-id.ts';
import type { Owner } from '../../objects/owner.ts';
import type { ConversationTurn } from '../../objects/responses/conversation-turn.ts';
import type { Conversations } from '../../objects/responses/conversations.ts';
import type { ResponseRecord } from '../../objects/responses/response-record.ts';
import {
  ResponseWriter,
  type ResponseWriterOptions,
} from '../../objects/responses/response-writer.ts';
import type { Responses } from '../../objects/responses/responses.ts';
import * as ownedObjects from '../../store/objects/owned-objects.ts';
import { EventReader } from '../../upstream/documents/event-reader.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { changedBody } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { ObjectRecorder } from './object-recorder.ts';
import { notFound } from './owned-lookup.ts';

export interface NewResponseRequest {
  /** With the turns of the previous responses. */
  readonly exchange: Exchange;
  readonly keeping: ResponseWriter | null;
  /** Must be released when the request ends; null without a conversation of the gateway. */
  readonly turn: ConversationTurn | null;
}

export interface NewResponseOptions extends Omit<ResponseWriterOptions, 'commits'> {
  readonly owner: Owner;
  readonly responses: Responses;
  readonly conversations: Conversations;
  readonly bodyBytesMax: number;
}

/** Whether the request creates a response. */
export function isResponseCreation(
  { kind, id, rest }: OwnedPath,
  method: string | undefined,
): boolean {
  return kind === 'responses' && id === null && rest.length === 0 && method === 'POST';
}

/** Whether the caller polls for the response instead of waiting for it. */
export function isInBackground({ params }: Pick<Exchange, 'params'>): boolean {
  return params.background === true && params.stream !== true;
}

/** @throws ObjectError or GatewayError when the previous response or the conversation cannot be continued, or is too large */
export async function newResponse(
  exchange: Exchange,
  options: NewResponseOptions,
): Promise<NewResponseRequest> {
  const { params } = exchange;
  requireStorable(params);
  const id = newObjectId('resp');
  const turn = await beginTurn(exchange, id, options);
  try {
    return await newResponseAfter(exchange, { id, turn }, options);
  } catch (thrown) {
    await turn?.release();
    throw thrown;
  }
}

/** @throws GatewayError for members that cannot be stored together */
function requireStorable(params: Exchange['params']): void {
  if (params.background === true && params.store === false) {
    const message = 'background: true requires a stored response; omit store';
    throw new GatewayError('invalid_request', message, 'store');
  }
  if (Array.isArray(params.input) && !params.input.every(isObject)) {
    throw new GatewayError('invalid_request', 'input must be a string or a list of items', 'input');
  }
  if ((params.conversation ?? null) !== null && typeof params.previous_response_id === 'string') {
    const message = 'A response continues a conversation or a previous response, not both';
    throw new GatewayError('invalid_request', message, 'previous_response_id');
  }
}

/** Null for a request without a conversation, or with one that the gateway does not store. */
async function beginTurn(
  { params: { conversation, store } }: Exchange,
  responseId: string,
  { database, owner, conversations, bodyBytesMax }: NewResponseOptions,
): Promise<ConversationTurn | null> {
  const id = isObject(conversation) ? conversation.id : conversation;
  if (typeof id !== 'string') return null;
  const turn = await conversations.beginTurn(owner, id, { responseId, bytesMax: bodyBytesMax });
  if (turn === null) {
    const ofProvider = { ...owner, kind: 'conversations' as const };
    const isForeign =
      isObjectId(id) && (await ownedObjects.find(database.db, ofProvider, id)) === undefined;
    if (isForeign) throw notFound({ kind: 'conversations', param: 'conversation' });
    return null;
  }
  if (store !== false) return turn;
  await turn.release();
  const message = 'A response of a conversation is stored with it; omit store';
  throw new GatewayError('invalid_request', message, 'store');
}

async function newResponseAfter(
  exchange: Exchange,
  { id, turn }: { readonly id: string; readonly turn: ConversationTurn | null },
  options: NewResponseOptions,
): Promise<NewResponseRequest> {
  const { params } = exchange;
  const { owner, responses } = options;
  const previous = params.previous_response_id;
  const previousId = typeof previous === 'string' ? previous : null;
  const prior = previousId === null ? null : await responses.priorTurns(owner, previousId);
  const items = turn?.items ?? prior?.items ?? null;
  const newResponse = {
    id,
    isContinued: items !== null,
    conversationId: turn?.conversationId ?? null,
  };
  const continued = items === null ? {} : withTurns(exchange, items, options.bodyBytesMax);
  const response = {
    id,
    owner,
    turn,
    input: params.input,
    previousId: prior === null ? null : previousId,
    rootId: prior?.rootId ?? id,
  };
  const keepingOptions = { ...options, commits: responses.commits };
  return {
    exchange: { ...exchange, ...continued, newResponse },
    keeping: params.store === false ? null : new ResponseWriter(response, keepingOptions),
    turn,
  };
}

function withTurns(
  { params, body }: Exchange,
  before: readonly unknown[],
  bytesMax: number,
): Pick<Exchange, 'params' | 'body'> {
  const { input } = params;
  const turns = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const items = [...before, ...(Array.isArray(turns) ? turns : [])];
  const { conversation, ...others } = params;
  const changes = new Map<string, unknown>([['input', items]]);
  if (conversation !== undefined) changes.set('conversation', undefined);
  const changed = changedBody(body!, changes);
  if (changed.length > bytesMax) {
    const message = `With the previous items, the request has more than ${bytesMax} bytes`;
    const param = conversation === undefined ? 'previous_response_id' : 'conversation';
    throw new GatewayError('body_too_large', message, param);
  }
  return { params: { ...others, input: items }, body: changed };
}

/** Records a response that the gateway stores, like an object of a provider. */
export function responseRecorder(keeping: ResponseWriter): ObjectRecorder {
  return {
    whole: async (body) => {
      const { hook_results: _, ...record } = JSON.parse(body.toString('utf8'));
      await keeping.writeWhole(record as ResponseRecord);
      return body;
    },
    ofStream: () => {
      const reader = new EventReader();
      return {
        outlivesCaller: true,
        get isUnwanted() {
          return keeping.isCancelled;
        },
        record: (bytes) => keeping.writeEvents(responseEvents(reader, bytes)),
        end: async () => Buffer.from(await keeping.fail(brokenOff)),
      };
    },
  };
}

const brokenOff = 'The provider broke off its answer';

/** The data of the events that end in these bytes, without guardrail results, which are not part of a response. */
function responseEvents(reader: EventReader, bytes: Buffer): string[] {
  const events: string[] = [];
  reader.push(bytes, (data) => {
    if (data.startsWith('{"type":')) events.push(data);
  });
  return events;
}
