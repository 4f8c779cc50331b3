/** Handles threads and their messages. */
import {
  MessageCreate,
  MetadataUpdate,
  messageParts,
  ThreadCreate,
  ThreadUpdate,
} from '../../model/objects/thread.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import * as runs from '../../store/objects/runs.ts';
import type { StoredMessage } from '../../store/objects/thread-messages.ts';
import * as threadMessages from '../../store/objects/thread-messages.ts';
import type { StoredThread } from '../../store/objects/threads.ts';
import * as threads from '../../store/objects/threads.ts';
import { newObjectId } from '../object-id.ts';
import { readParams } from '../object-params.ts';
import { ObjectError, type ObjectRequest, type ObjectResponse } from '../object-request.ts';
import type { StoreSearch } from '../store-search.ts';
import { expireIfOver } from './move-run.ts';
import { respondWithPage } from './pages.ts';
import { messageRecord, threadRecord } from './records.ts';
import { requireSearchableStores } from './searchable-stores.ts';

type Parts = Pick<Database, 'db' | 'transaction'>;

interface ThreadParts {
  readonly database: Parts;
  readonly search: StoreSearch;
}

/** Must run in a transaction. */
export async function insertThread(
  tx: Db,
  { owner, now }: ObjectRequest,
  { messages = [], metadata, tool_resources }: ThreadCreate,
): Promise<StoredThread> {
  const row: StoredThread = {
    organisation_id: owner.organisationId,
    id: newObjectId('thread'),
    workspace_id: owner.workspaceId,
    api_key_id: owner.apiKeyId,
    tool_resources: JSON.stringify(tool_resources ?? {}),
    metadata: JSON.stringify(metadata ?? {}),
    created_at: now,
    used_at: now,
  };
  await threads.insert(tx, row);
  await threadMessages.insert(tx, messageRows(row, messages, now));
  return row;
}

/** Rows for messages as callers send them. */
export function messageRows(
  thread: StoredThread,
  messages: readonly MessageCreate[],
  now: number,
): StoredMessage[] {
  return messages.map(({ role, content, metadata }) => ({
    organisation_id: thread.organisation_id,
    id: newObjectId('msg'),
    thread_id: thread.id,
    role,
    content: JSON.stringify(messageParts(content)),
    metadata: JSON.stringify(metadata ?? {}),
    assistant_id: null,
    run_id: null,
    incomplete_reason: null,
    created_at: now,
  }));
}

export async function createThread(
  { database: { transaction }, search }: ThreadParts,
  request: ObjectRequest,
): Promise<ObjectResponse> {
  const body = readParams(ThreadCreate, request.params);
  await requireSearchableStores(search, request, body.tool_resources);
  return { body: threadRecord(await transaction((tx) => insertThread(tx, request, body))) };
}

/** Handles a request about the thread itself. */
export async function handleThread(
  { database: { db, transaction }, search }: ThreadParts,
  request: ObjectRequest,
  thread: StoredThread,
): Promise<ObjectResponse> {
  const { id } = thread;
  switch (request.method) {
    case 'GET':
      return { body: threadRecord(thread) };
    case 'POST': {
      const { metadata, tool_resources: resources } = readParams(ThreadUpdate, request.params);
      await requireSearchableStores(search, request, resources);
      const set = {
        metadata: metadata === undefined ? thread.metadata : JSON.stringify(metadata ?? {}),
        tool_resources:
          resources === undefined ? thread.tool_resources : JSON.stringify(resources ?? {}),
      };
      await threads.update(db, thread, set);
      return { body: threadRecord({ ...thread, ...set }) };
    }
    case 'DELETE':
      await transaction((tx) => threads.deleteById(tx, thread));
      return { body: { id, object: 'thread.deleted', deleted: true } };
    default:
      throw new ObjectError('not_found', `A thread does not support ${request.method}`);
  }
}

/** `behind` contains the path segments after `/messages`. */
export async function handleMessages(
  parts: Parts,
  request: ObjectRequest,
  thread: StoredThread,
  [id, ...behind]: readonly string[],
): Promise<ObjectResponse> {
  const { method, query, params } = request;
  const { db } = parts;
  if (id === undefined) {
    if (method === 'POST') return addMessage(parts, request, thread);
    if (method !== 'GET') throw noSuch(method);
    return respondWithPage(query, {
      find: (anchorId) => threadMessages.find(db, thread, anchorId),
      list: (page) => threadMessages.list(db, thread, page, query.get('run_id')),
      record: messageRecord,
    });
  }
  const row = await threadMessages.find(db, thread, id);
  if (row === undefined) throw noSuch('message with this id');
  if (behind.length === 0 && method === 'GET') return { body: messageRecord(row) };
  if (behind.length === 0 && method === 'POST') {
    const metadata = updatedMetadata(params, row.metadata);
    await threadMessages.updateMetadata(db, row, metadata);
    return { body: messageRecord({ ...row, metadata }) };
  }
  if (behind.length > 0 || method !== 'DELETE') throw noSuch([...behind, method].join('/'));
  await threadMessages.deleteById(db, thread, id);
  return { body: { id, object: 'thread.message.deleted', deleted: true } };
}

async function addMessage(
  parts: Parts,
  { params, now }: ObjectRequest,
  thread: StoredThread,
): Promise<ObjectResponse> {
  const body = readParams(MessageCreate, params);
  await requireNoActiveRun(parts, thread, now);
  const [row] = messageRows(thread, [body], now);
  await parts.transaction(async (tx) => {
    if (!(await threads.use(tx, thread, now))) throw threadNotFound();
    await threadMessages.insert(tx, [row!]);
  });
  return { body: messageRecord(row!) };
}

/** @throws ObjectError while a run of the thread is active */
export async function requireNoActiveRun(
  parts: Parts,
  thread: StoredThread,
  now: number,
): Promise<void> {
  const active = await runs.findActive(parts.db, thread);
  if (active === undefined) return;
  const run = await expireIfOver(parts, active, now);
  if (run.active === null) return;
  const message = `The run ${run.id} of this thread has not ended: it is ${run.status}`;
  throw new ObjectError('invalid_request', message);
}

/** The new metadata if the body contains any, else the stored metadata. */
export function updatedMetadata(params: ObjectRequest['params'], before: string): string {
  const { metadata } = readParams(MetadataUpdate, params);
  return metadata === undefined ? before : JSON.stringify(metadata ?? {});
}

/** Error for a thread that was deleted during the request. */
export function threadNotFound(): ObjectError {
  return new ObjectError('not_found', 'The thread does not exist');
}

function noSuch(what: string): ObjectError {
  return new ObjectError('not_found', `The thread has no ${what}`);
}
