/** Handles the files that the gateway stores: upload, read, list and delete. */
import { BlobUnavailable } from '../../blobs/blob-store.ts';
import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import { FileFields, filePurposes } from '../../model/objects/stored-file.ts';
import type { Database } from '../../store/connection/db.ts';
import * as files from '../../store/objects/files.ts';
import type { StoredBlobs, WrittenBlob } from '../../store/stored-blobs.ts';
import { newObjectId } from '../object-id.ts';
import { objectList, pageCursorNotFound, parseObjectPage } from '../object-page.ts';
import { readParams } from '../object-params.ts';
import {
  ByteStream,
  ObjectError,
  type ObjectFamily,
  type ObjectRequest,
  type ObjectResponse,
} from '../object-request.ts';
import type { Owner } from '../owner.ts';
import { type FileForm, readFileForm } from './file-form.ts';

export interface FilesOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly blobs: StoredBlobs;
  /** Maximum size of one file. */
  readonly fileBytesMax: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class Files implements ObjectFamily {
  readonly kinds: readonly ObjectKind[] = ['files'];
  readonly #options: FilesOptions;

  constructor(options: FilesOptions) {
    this.#options = options;
  }

  async listOwned(owner: Owner, _: ObjectKind, ids: readonly string[]): Promise<readonly string[]> {
    const { database, now } = this.#options;
    return [...(await files.listNames(database.db, owner, ids, now())).keys()];
  }

  async handle(request: ObjectRequest): Promise<ObjectResponse | null> {
    const { id, method, rest } = request;
    if (id === null) return this.#handleCollection(request);
    const row = await this.#find(request.owner, id, request.now);
    if (row === undefined) return null;
    switch ([method, ...rest].join(' ')) {
      case 'GET':
        return { body: recordOf(row) };
      case 'GET content':
        return this.#read(row);
      case 'DELETE':
        return this.#delete(request.owner, id);
      default:
        throw new ObjectError('not_found', `A file does not support ${rest.join('/') || method}`);
    }
  }

  #handleCollection(request: ObjectRequest): Promise<ObjectResponse> {
    const { method, rest } = request;
    if (rest.length === 0 && method === 'POST') return this.#upload(request);
    if (rest.length === 0 && method === 'GET') return this.#list(request);
    throw new ObjectError('not_found', 'Files are uploaded by POST and listed by GET');
  }

  #find(owner: Owner, id: string, now: number): Promise<files.StoredFile | undefined> {
    return files.find(this.#options.database.db, owner, id, now);
  }

  async #upload({ owner, now, upload, contentType }: ObjectRequest): Promise<ObjectResponse> {
    const { blobs, fileBytesMax: bytesMax } = this.#options;
    const id = newObjectId('file');
    const key = { organisationId: owner.organisationId, id };
    let isWritten = false;
    const keep = async (content: AsyncIterable<Buffer>) => {
      const written = await blobs.write(key, content);
      isWritten = true;
      return written;
    };
    try {
      const form = await readFileForm({ upload, contentType, bytesMax, consume: keep });
      return { body: recordOf(await this.#keep(rowOf(owner, form, now), form.content)) };
    } catch (error) {
      if (isWritten) await blobs.discard(key);
      throw toRetryableError(error);
    }
  }

  async #keep(row: files.StoredFile, written: WrittenBlob): Promise<files.StoredFile> {
    const { blobs, database } = this.#options;
    await database.transaction(async (tx) => {
      await blobs.keep(tx, written);
      await files.insert(tx, { ...row });
    });
    return row;
  }

  async #list({ owner, query, now }: ObjectRequest): Promise<ObjectResponse> {
    const { order, limit, after, before } = parseObjectPage(query);
    const findCursor = async (id: string | null, param: string) => {
      const row = id === null ? null : await this.#find(owner, id, now);
      if (row !== undefined) return row;
      throw pageCursorNotFound(param);
    };
    const page = {
      order,
      limit,
      purpose: purposeOf(query),
      after: await findCursor(after, 'after'),
      before: await findCursor(before, 'before'),
    };
    const rows = await files.list(this.#options.database.db, owner, page, now);
    const records = rows.slice(0, limit).map(recordOf);
    return { body: objectList(records, rows.length > limit) };
  }

  async #read({ organisation_id, id }: files.StoredFile): Promise<ObjectResponse | null> {
    const blob = await this.#options.blobs.read({ organisationId: organisation_id, id });
    if (blob === null) return null;
    const body = new ByteStream(blob.bytes, withRetryableErrors(blob.pieces));
    return { contentType: 'application/octet-stream', body };
  }

  async #delete(owner: Owner, id: string): Promise<ObjectResponse | null> {
    const { blobs, database } = this.#options;
    const { organisationId } = owner;
    const isDeleted = await database.transaction(async (tx) => {
      if (!(await files.deleteById(tx, owner, id))) return false;
      await blobs.markDeleted(tx, organisationId, [id]);
      return true;
    });
    if (!isDeleted) return null;
    await blobs.erase({ organisationId, id });
    return { body: { id, object: 'file', deleted: true } };
  }
}

function rowOf(
  owner: Owner,
  { name, content, fields: formFields }: FileForm<WrittenBlob>,
  now: number,
): files.StoredFile {
  const fields = readParams(FileFields, Object.fromEntries(formFields));
  if (content.bytes === 0) throw new ObjectError('invalid_request', 'The file is empty', 'file');
  return {
    organisation_id: owner.organisationId,
    id: content.id,
    workspace_id: owner.workspaceId,
    api_key_id: owner.apiKeyId,
    name,
    purpose: fields.purpose,
    bytes: content.bytes,
    created_at: now,
    expires_at: expiryOf(fields, now),
  };
}

/** Converts a failure of the blob store to an error that the caller can retry. */
function toRetryableError(error: unknown): unknown {
  if (!(error instanceof BlobUnavailable)) return error;
  const message = 'The file storage is unavailable, try again';
  return new ObjectError('unavailable', message, null, { cause: error });
}

async function* withRetryableErrors(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* pieces;
  } catch (error) {
    throw toRetryableError(error);
  }
}

/** The file as returned to callers; times are in seconds. */
function recordOf({ id, bytes, created_at, expires_at, name, purpose }: files.StoredFile) {
  return {
    id,
    object: 'file',
    bytes,
    created_at: Math.floor(created_at / 1000),
    ...(expires_at === null ? {} : { expires_at: Math.floor(expires_at / 1000) }),
    filename: name,
    purpose,
    status: 'processed',
  };
}

function expiryOf(fields: FileFields, now: number): number | null {
  const seconds = fields['expires_after[seconds]'];
  if (seconds === undefined && fields['expires_after[anchor]'] === undefined) return null;
  if (seconds !== undefined && fields['expires_after[anchor]'] !== undefined) {
    return now + seconds * 1000;
  }
  const message = 'expires_after requires both anchor and seconds';
  throw new ObjectError('invalid_request', message, 'expires_after');
}

function purposeOf(query: URLSearchParams): string | null {
  const purpose = query.get('purpose');
  if (purpose === null || filePurposes.some((known) => known === purpose)) return purpose;
  const message = `purpose must be one of ${filePurposes.join(', ')}`;
  throw new ObjectError('invalid_request', message, 'purpose');
}
