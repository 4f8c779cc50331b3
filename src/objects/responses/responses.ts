/** Handles the responses that the gateway stores: read, continue, cancel and delete. */

import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import type { Database } from '../../store/connection/db.ts';
import * as responses from '../../store/objects/responses.ts';
import { listOwnIds } from '../../store/rows/owned-rows.ts';
import { objectList, pageCursorNotFound, parseObjectPage } from '../object-page.ts';
import {
  ObjectError,
  type ObjectFamily,
  type ObjectRequest,
  type ObjectResponse,
} from '../object-request.ts';
import type { Owner } from '../owner.ts';
import { EventBatchWriter } from './event-batch-writer.ts';
import { failLostResponse, isLostResponse } from './lost-response.ts';
import { streamEventsAfter } from './response-events.ts';
import { parseInput, parseRecord, type ResponseItem } from './response-record.ts';

export interface ResponsesOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The previous turns of a response. */
export interface PriorTurns {
  readonly rootId: string;
  /** All input and output items, oldest first. */
  readonly items: readonly ResponseItem[];
}

export class Responses implements ObjectFamily {
  readonly kinds: readonly ObjectKind[] = ['responses'];
  /** Shared by all streams of responses. */
  readonly commits: EventBatchWriter;
  readonly #options: ResponsesOptions;

  constructor(options: ResponsesOptions) {
    this.#options = options;
    this.commits = new EventBatchWriter(options.database.db);
  }

  listOwned(owner: Owner, _: ObjectKind, ids: readonly string[]): Promise<readonly string[]> {
    return listOwnIds(this.#options.database.db, 'responses', owner, ids);
  }

  async handle(request: ObjectRequest): Promise<ObjectResponse | null> {
    const { id, method, rest } = request;
    if (id === null) return null;
    const row = await this.#find({ ...request.owner, id });
    if (row === undefined) return null;
    const operation = [method, ...rest].join(' ');
    switch (operation) {
      case 'GET':
        return this.#respondWith(row, request);
      case 'DELETE':
        return this.#delete(row);
      case 'POST cancel':
        return this.#cancel(row);
      case 'GET input_items':
        return { body: pageOf(parseInput(row), request.query) };
      default:
        throw new ObjectError(
          'not_found',
          `A response does not support ${rest.join('/') || method}`,
        );
    }
  }

  /**
   * Returns null if the gateway does not store the response for this owner.
   *
   * @throws ObjectError if the response cannot be continued
   */
  async priorTurns(owner: Owner, id: string): Promise<PriorTurns | null> {
    const rows = await responses.listTree(this.#options.database.db, { ...owner, id });
    const byId = new Map(rows.map((row) => [row.id, row]));
    if (!byId.has(id)) return null;
    const items: ResponseItem[][] = [];
    for (let at: string | null = id; at !== null; ) {
      const row = byId.get(at);
      if (row === undefined) throw previousNotFound(id);
      if (row.status !== 'completed' && row.status !== 'incomplete') {
        const message = `The response is ${row.status} and cannot be continued`;
        throw new ObjectError('invalid_request', message, 'previous_response_id');
      }
      items.push([...parseInput(row), ...parseRecord(row).output]);
      at = row.previous_id;
    }
    return { rootId: byId.get(id)!.root_id, items: items.reverse().flat() };
  }

  /** Reads the response; one whose process is gone is marked as failed first. */
  async #find(at: responses.ResponseKey): Promise<responses.StoredResponse | undefined> {
    const { database, now } = this.#options;
    const row = await responses.find(database.db, at);
    if (row === undefined || !isLostResponse(row, now())) return row;
    await failLostResponse(database.db, row, now());
    return responses.find(database.db, at);
  }

  #respondWith(row: responses.StoredResponse, { query, owner }: ObjectRequest): ObjectResponse {
    if (query.get('stream') !== 'true') return { body: parseRecord(row) };
    const after = query.get('starting_after') ?? '-1';
    if (!/^(?:-1|\d{1,9})$/.test(after)) {
      const message = 'starting_after must be the number of an event';
      throw new ObjectError('invalid_request', message, 'starting_after');
    }
    const at = { ...owner, id: row.id };
    const find = () => this.#find(at);
    return { body: streamEventsAfter({ db: this.#options.database.db, at, find }, Number(after)) };
  }

  async #delete({ organisation_id, workspace_id, id }: responses.StoredResponse) {
    const at = { organisationId: organisation_id, workspaceId: workspace_id, id };
    const isDeleted = await this.#options.database.transaction((tx) =>
      responses.deleteById(tx, at),
    );
    return isDeleted ? { body: { id, object: 'response', deleted: true } } : null;
  }

  /** Cancels the response; one that has ended is not changed. */
  async #cancel(row: responses.StoredResponse): Promise<ObjectResponse> {
    const record = parseRecord(row);
    if (record.background !== true) {
      const message = 'Only a background response can be cancelled';
      throw new ObjectError('invalid_request', message);
    }
    const at = {
      organisationId: row.organisation_id,
      workspaceId: row.workspace_id,
      id: row.id,
    };
    const cancelled = { ...record, status: 'cancelled' };
    await responses.update(this.#options.database.db, at, {
      status: 'cancelled',
      alive_until: null,
      record: JSON.stringify(cancelled),
    });
    const updated = await this.#find(at);
    return { body: updated === undefined ? cancelled : parseRecord(updated) };
  }
}

function previousNotFound(id: string): ObjectError {
  const message = `The response that ${id} continues is no longer stored`;
  return new ObjectError('not_found', message, 'previous_response_id');
}

/** Cuts a page from a list in memory. */
function pageOf(items: readonly ResponseItem[], query: URLSearchParams): object {
  const { limit, order, after, before } = parseObjectPage(query);
  const ordered = order === 'asc' ? items : items.toReversed();
  const indexOf = (id: string, param: string): number => {
    const at = ordered.findIndex((item) => item.id === id);
    if (at >= 0) return at;
    throw pageCursorNotFound(param);
  };
  const from = after === null ? 0 : indexOf(after, 'after') + 1;
  const to = before === null ? ordered.length : indexOf(before, 'before');
  return objectList(ordered.slice(from, Math.min(to, from + limit)), from + limit < to);
}
