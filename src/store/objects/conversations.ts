/** Table functions for conversations: lists of items that responses continue and extend. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type ObjectOwner, ownedBy } from '../rows/owned-rows.ts';
import { atMost, lessThan, nullOr } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface ConversationRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  /** JSON object. */
  metadata: string;
  /** Position of the next item; positions of deleted items are not used again. */
  next_position: number;
  /** Size of all items as JSON. */
  item_bytes: number;
  /** The response that is being added; null, like `response_until`, for none. */
  response_id: string | null;
  /** Until when that response keeps others out. */
  response_until: number | null;
  created_at: number;
  /** When an item was last added. */
  used_at: number;
}

interface ConversationItemRow {
  organisation_id: string;
  conversation_id: string;
  position: number;
  /** Not unique: an item may be added again. */
  item_id: string;
  /** JSON object. */
  item: string;
  bytes: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    conversations: ConversationRow;
    conversation_items: ConversationItemRow;
  }
}

export type StoredConversation = ConversationRow;
export type StoredItem = Pick<ConversationItemRow, 'position' | 'item' | 'bytes'>;

/** An item to add. */
export type NewItem = Pick<ConversationItemRow, 'item_id' | 'item' | 'bytes'>;

/** A conversation and its owner. */
export interface ConversationKey extends ObjectOwner {
  readonly id: string;
}

const table = rows('conversations');
const itemTable = rows('conversation_items');

const whereOf = (key: ConversationKey) => ({ ...ownedBy(key), id: key.id });

export const { insert } = table;

export function find(db: Db, key: ConversationKey): Promise<StoredConversation | undefined> {
  return table.find(db, whereOf(key));
}

export function findForUpdate(
  tx: Db,
  key: ConversationKey,
): Promise<StoredConversation | undefined> {
  return table.findForUpdate(tx, whereOf(key));
}

/** Returns whether the conversation exists. */
export async function updateMetadata(
  db: Db,
  key: ConversationKey,
  metadata: string,
): Promise<boolean> {
  return (await table.update(db, whereOf(key), { metadata })) > 0;
}

/** Reserves the conversation for one response. Returns false while another one holds it, or if it does not exist. */
export async function holdFor(
  db: Db,
  key: ConversationKey,
  responseId: string,
  { now, until }: Readonly<Record<'now' | 'until', number>>,
): Promise<boolean> {
  const where = { ...whereOf(key), response_until: nullOr(lessThan(now)) };
  return (await table.update(db, where, { response_id: responseId, response_until: until })) > 0;
}

/** Extends or ends the reservation of a response; without effect if another response holds the conversation. */
export async function setHold(
  db: Db,
  key: ConversationKey,
  responseId: string,
  until: number | null,
): Promise<void> {
  const set = until === null ? { response_id: null } : {};
  const where = { ...whereOf(key), response_id: responseId };
  await table.update(db, where, { ...set, response_until: until });
}

/** Adds items at the end. Call it in a transaction. Returns whether the conversation exists. */
export async function append(
  tx: Db,
  key: ConversationKey,
  items: readonly NewItem[],
  now: number,
): Promise<boolean> {
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
  const updated = await table.update(tx, whereOf(key), {
    next_position: sql`next_position + ${items.length}`,
    item_bytes: sql`item_bytes + ${bytes}`,
    used_at: now,
  });
  if (updated === 0) return false;
  if (items.length === 0) return true;
  const row = (await table.find(tx, whereOf(key)))!;
  const first = row.next_position - items.length;
  await itemTable.insertMany(
    tx,
    items.map((item, at) => ({ ...ofConversation(key), ...item, position: first + at })),
  );
  return true;
}

const ofConversation = ({ organisationId, id }: ConversationKey) => ({
  organisation_id: organisationId,
  conversation_id: id,
});

/** All items of a conversation whose owner has been checked, oldest first. */
export async function listConversationItems(db: Db, key: ConversationKey): Promise<string[]> {
  const list = await itemTable.list(db, ofConversation(key), {
    columns: ['item'],
    orderBy: ['position'],
  });
  return list.map(({ item }) => item);
}

/** The newest item with this id. */
export function findConversationItem(
  db: Db,
  key: ConversationKey,
  itemId: string,
): Promise<StoredItem | undefined> {
  return itemTable.findFirst(
    db,
    { ...ofConversation(key), item_id: itemId },
    { orderBy: ['position desc'] },
  );
}

/** Items after a position in the given order; null for those from the start. */
export function listItemsAfter(
  db: Db,
  key: ConversationKey,
  { order, after, limit }: { order: 'asc' | 'desc'; after: number | null; limit: number },
): Promise<StoredItem[]> {
  const side = order === 'asc' ? '>' : '<';
  return itemTable
    .matching(db, ofConversation(key))
    .select(['position', 'item', 'bytes'])
    .$if(after !== null, (all) => all.where('position', side, after!))
    .orderBy('position', order)
    .limit(limit)
    .execute();
}

/** Call it in a transaction. Returns whether the item existed. */
export async function deleteItem(
  tx: Db,
  key: ConversationKey,
  { position, bytes }: StoredItem,
): Promise<boolean> {
  const deleted = await itemTable.delete(tx, { ...ofConversation(key), position });
  if (deleted === 0) return false;
  await table.update(tx, whereOf(key), { item_bytes: sql`item_bytes - ${bytes}` });
  return true;
}

/** Up to `limit` conversations of any organisation to which nothing was added since a time. */
export function listUnused(
  db: Db,
  since: number,
  limit: number,
): Promise<Pick<StoredConversation, 'organisation_id' | 'workspace_id' | 'id'>[]> {
  return table.listAnywhere(
    db,
    { used_at: atMost(since) },
    { columns: ['organisation_id', 'workspace_id', 'id'], orderBy: ['used_at'], limit },
  );
}

/** Deletes a conversation with its items, unless it was used after `unusedSince`. Returns whether it was deleted. */
export async function deleteById(
  tx: Db,
  key: ConversationKey,
  unusedSince: number | null = null,
): Promise<boolean> {
  const unused = unusedSince === null ? {} : { used_at: atMost(unusedSince) };
  if ((await table.delete(tx, { ...whereOf(key), ...unused })) === 0) return false;
  await itemTable.delete(tx, ofConversation(key));
  return true;
}
