/** Handles the conversations that the gateway stores, and their items. */
import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import {
  ConversationCreate,
  ConversationItemsCreate,
  ConversationUpdate,
} from '../../model/objects/conversation.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import * as conversations from '../../store/objects/conversations.ts';
import { listOwnIds } from '../../store/rows/owned-rows.ts';
import { newObjectId } from '../object-id.ts';
import { objectList, pageCursorNotFound, parseObjectPage } from '../object-page.ts';
import { readParams } from '../object-params.ts';
import {
  ObjectError,
  type ObjectFamily,
  type ObjectRequest,
  type ObjectResponse,
} from '../object-request.ts';
import type { Owner } from '../owner.ts';
import { ConversationTurn, newItem } from './conversation-turn.ts';
import { inputItems, type ResponseItem } from './response-record.ts';

export interface ConversationsOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class Conversations implements ObjectFamily {
  readonly kinds: readonly ObjectKind[] = ['conversations'];
  readonly #options: ConversationsOptions;

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  listOwned(owner: Owner, _: ObjectKind, ids: readonly string[]): Promise<readonly string[]> {
    return listOwnIds(this.#options.database.db, 'conversations', owner, ids);
  }

  /**
   * Reserves the conversation for a response; null if the gateway does not store it for this owner.
   *
   * @throws ObjectError while another response uses it, or if it has more than `bytesMax`
   */
  beginTurn(
    owner: Owner,
    id: string,
    { responseId, bytesMax }: { readonly responseId: string; readonly bytesMax: number },
  ): Promise<ConversationTurn | null> {
    const { database, now } = this.#options;
    const key = { ...owner, id };
    return ConversationTurn.begin({ db: database.db, now, key, responseId }, bytesMax);
  }

  async handle(request: ObjectRequest): Promise<ObjectResponse | null> {
    const { id, method, owner, rest } = request;
    if (id === null) return method === 'POST' && rest.length === 0 ? this.#create(request) : null;
    const row = await conversations.find(this.#options.database.db, { ...owner, id });
    if (row === undefined) return null;
    if (rest.length === 0) return this.#handleOne(request, row);
    if (rest[0] === 'items') return this.#handleItems(request, row);
    throw unsupported(rest.join('/'));
  }

  async #create({ owner, now, params }: ObjectRequest): Promise<ObjectResponse> {
    const { items, metadata } = readParams(ConversationCreate, params);
    const row: conversations.StoredConversation = {
      organisation_id: owner.organisationId,
      id: newObjectId('conv'),
      workspace_id: owner.workspaceId,
      api_key_id: owner.apiKeyId,
      metadata: JSON.stringify(metadata ?? {}),
      next_position: 0,
      item_bytes: 0,
      response_id: null,
      response_until: null,
      created_at: now,
      used_at: now,
    };
    const added = itemsOf(items ?? []).map(newItem);
    await this.#options.database.transaction(async (tx) => {
      await conversations.insert(tx, row);
      await conversations.append(tx, { ...owner, id: row.id }, added, now);
    });
    return { body: recordOf(row) };
  }

  async #handleOne(
    { method, owner, params }: ObjectRequest,
    row: conversations.StoredConversation,
  ): Promise<ObjectResponse | null> {
    const { db, transaction } = this.#options.database;
    const key = { ...owner, id: row.id };
    switch (method) {
      case 'GET':
        return { body: recordOf(row) };
      case 'POST': {
        const metadata = JSON.stringify(readParams(ConversationUpdate, params).metadata ?? {});
        const isUpdated = await conversations.updateMetadata(db, key, metadata);
        return isUpdated ? { body: recordOf({ ...row, metadata }) } : null;
      }
      case 'DELETE': {
        const isDeleted = await transaction((tx) => conversations.deleteById(tx, key));
        const body = { id: row.id, object: 'conversation.deleted', deleted: true };
        return isDeleted ? { body } : null;
      }
      default:
        throw unsupported(method);
    }
  }

  async #handleItems(
    request: ObjectRequest,
    row: conversations.StoredConversation,
  ): Promise<ObjectResponse | null> {
    const { method, owner, query, rest } = request;
    const { db } = this.#options.database;
    const key = { ...owner, id: row.id };
    const [, itemId, ...below] = rest;
    if (below.length > 0) throw unsupported(rest.join('/'));
    if (itemId === undefined) {
      if (method === 'POST') return this.#addItems(request, key);
      if (method !== 'GET') throw unsupported(method);
      return { body: await pageOf(db, key, query) };
    }
    const item = await conversations.findConversationItem(db, key, itemId);
    if (item === undefined) throw itemNotFound();
    if (method === 'GET') return { body: JSON.parse(item.item) };
    if (method !== 'DELETE') throw unsupported(method);
    await this.#options.database.transaction((tx) => conversations.deleteItem(tx, key, item));
    return { body: recordOf(row) };
  }

  async #addItems(
    { params, now }: ObjectRequest,
    key: conversations.ConversationKey,
  ): Promise<ObjectResponse | null> {
    const items = itemsOf(readParams(ConversationItemsCreate, params).items);
    const isAdded = await this.#options.database.transaction(async (tx) => {
      const row = await conversations.findForUpdate(tx, key);
      if (row === undefined) return false;
      if (row.response_until !== null && row.response_until >= now) {
        const message = 'A response is being added to the conversation; try again later';
        throw new ObjectError('conflict', message);
      }
      return conversations.append(tx, key, items.map(newItem), now);
    });
    return isAdded ? { body: objectList(items, false) } : null;
  }
}

/** Items as a request sends them, with ids. */
function itemsOf(items: readonly ResponseItem[]): ResponseItem[] {
  return inputItems(newObjectId('resp'), items);
}

function recordOf({ id, metadata, created_at }: conversations.StoredConversation): object {
  return {
    id,
    object: 'conversation',
    created_at: Math.floor(created_at / 1000),
    metadata: JSON.parse(metadata),
  };
}

async function pageOf(
  db: Db,
  key: conversations.ConversationKey,
  query: URLSearchParams,
): Promise<object> {
  const { limit, order, after, before } = parseObjectPage(query);
  if (before !== null) {
    throw new ObjectError('invalid_request', 'Items are listed with after only', 'before');
  }
  const anchor = after === null ? null : await conversations.findConversationItem(db, key, after);
  if (anchor === undefined) throw pageCursorNotFound('after');
  const from = { order, after: anchor?.position ?? null, limit: limit + 1 };
  const found = await conversations.listItemsAfter(db, key, from);
  const items = found.slice(0, limit).map(({ item }) => JSON.parse(item) as ResponseItem);
  return objectList(items, found.length > limit);
}

function itemNotFound(): ObjectError {
  return new ObjectError('not_found', 'The conversation has no item with this id');
}

function unsupported(what: string): ObjectError {
  return new ObjectError('not_found', `A conversation does not support ${what}`);
}
