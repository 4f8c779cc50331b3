/** Knows the responses that the gateway keeps: how they are told, gone on from, cancelled and deleted. */
import type { Database } from '../../store/connection/db.ts';
import { listOwnIds } from '../../store/rows/owned-rows.ts';
import * as responses from '../../store/objects/responses.ts';
import { notInList, objectList, objectPageOf } from '../object-page.ts';
import {
  type ObjectAnswer,
  ObjectError,
  type ObjectFamily,
  type ObjectKind,
  type ObjectRequest,
} from '../object-request.ts';
import type { Owner } from '../owner.ts';
import { EventCommits } from './event-commits.ts';
import { endLost, isLost } from './lost-response.ts';
import { eventsFrom } from './response-events.ts';
import { type Item, inputOf, recordOf } from './response-record.ts';

export interface ResponsesOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What a response goes on from. */
export interface PriorTurns {
  readonly rootId: string;
  /** All that was asked and answered, the oldest first. */
  readonly items: readonly Item[];
}

export class Responses implements ObjectFamily {
  readonly kinds: readonly ObjectKind[] = ['responses'];
  /** Of streams of responses that are made. */
  readonly commits: EventCommits;
  readonly #options: ResponsesOptions;

  constructor(options: ResponsesOptions) {
    this.#options = options;
    this.commits = new EventCommits(options.database.db);
  }

  listOwned(owner: Owner, _: ObjectKind, ids: readonly string[]): Promise<readonly string[]> {
    return listOwnIds(this.#options.database.db, 'responses', owner, ids);
  }

  async answer(request: ObjectRequest): Promise<ObjectAnswer | null> {
    const { id, method, rest } = request;
    if (id === null) return null;
    const row = await this.#find({ ...request.owner, id });
    if (row === undefined) return null;
    const asked = [method, ...rest].join(' ');
    switch (asked) {
      case 'GET':
        return this.#tell(row, request);
      case 'DELETE':
        return this.#delete(row);
      case 'POST cancel':
        return this.#cancel(row);
      case 'GET input_items':
        return { body: pageOf(inputOf(row), request.query) };
      default:
        throw new ObjectError('not_found', `A response has no ${rest.join('/') || method}`);
    }
  }

  /**
   * Null for a response that is not one that the gateway keeps for this owner.
   *
   * @throws ObjectError where nothing can go on from it
   */
  async priorTurns(owner: Owner, id: string): Promise<PriorTurns | null> {
    const rows = await responses.listTree(this.#options.database.db, { ...owner, id });
    const byId = new Map(rows.map((row) => [row.id, row]));
    if (!byId.has(id)) return null;
    const items: Item[][] = [];
    for (let at: string | null = id; at !== null; ) {
      const row = byId.get(at);
      if (row === undefined) throw gone(id);
      if (row.status !== 'completed' && row.status !== 'incomplete') {
        const message = `The response is ${row.status}, and nothing goes on from it`;
        throw new ObjectError('invalid_request', message, 'previous_response_id');
      }
      items.push([...inputOf(row), ...recordOf(row).output]);
      at = row.previous_id;
    }
    return { rootId: byId.get(id)!.root_id, items: items.reverse().flat() };
  }

  /** As it stands; one whose process is gone has failed. */
  async #find(at: responses.ResponsePlace): Promise<responses.StoredResponse | undefined> {
    const { database, now } = this.#options;
    const row = await responses.find(database.db, at);
    if (row === undefined || !isLost(row, now())) return row;
    await endLost(database.db, row, now());
    return responses.find(database.db, at);
  }

  #tell(row: responses.StoredResponse, { query, owner }: ObjectRequest): ObjectAnswer {
    if (query.get('stream') !== 'true') return { body: recordOf(row) };
    const after = query.get('starting_after') ?? '-1';
    if (!/^(?:-1|\d{1,9})$/.test(after)) {
      const message = 'starting_after must be the number of an event';
      throw new ObjectError('invalid_request', message, 'starting_after');
    }
    const at = { ...owner, id: row.id };
    const find = () => this.#find(at);
    return { body: eventsFrom({ db: this.#options.database.db, at, find }, Number(after)) };
  }

  async #delete({ organisation_id, workspace_id, id }: responses.StoredResponse) {
    const at = { organisationId: organisation_id, workspaceId: workspace_id, id };
    const isDeleted = await this.#options.database.transaction((tx) =>
      responses.deleteById(tx, at),
    );
    return isDeleted ? { body: { id, object: 'response', deleted: true } } : null;
  }

  /** One that has ended stays as it is. */
  async #cancel(row: responses.StoredResponse): Promise<ObjectAnswer> {
    const record = recordOf(row);
    if (record.background !== true) {
      const message = 'Only a response in the background can be cancelled';
      throw new ObjectError('invalid_request', message);
    }
    const at = {
      organisationId: row.organisation_id,
      workspaceId: row.workspace_id,
      id: row.id,
    };
    const cancelled = { ...record, status: 'cancelled' };
    await responses.update(this.#options.database.db, at, {
      ...{ status: 'cancelled', alive_until: null, record: JSON.stringify(cancelled) },
    });
    const now = await this.#find(at);
    return { body: now === undefined ? cancelled : recordOf(now) };
  }
}

function gone(id: string): ObjectError {
  const message = `What the response ${id} goes on from is no longer kept`;
  return new ObjectError('not_found', message, 'previous_response_id');
}

/** Of a list that is at hand. */
function pageOf(items: readonly Item[], query: URLSearchParams): object {
  const { limit, order, after, before } = objectPageOf(query);
  const ordered = order === 'asc' ? items : items.toReversed();
  const placeOf = (id: string, param: string): number => {
    const at = ordered.findIndex((item) => item.id === id);
    if (at >= 0) return at;
    throw notInList(param);
  };
  const from = after === null ? 0 : placeOf(after, 'after') + 1;
  const to = before === null ? ordered.length : placeOf(before, 'before');
  return objectList(ordered.slice(from, Math.min(to, from + limit)), from + limit < to);
}
