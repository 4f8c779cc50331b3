/** Routes requests about assistants and threads to their handlers. */

import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import type { Database } from '../../store/connection/db.ts';
import * as threads from '../../store/objects/threads.ts';
import { listOwnIds } from '../../store/rows/owned-rows.ts';
import {
  ObjectError,
  type ObjectFamily,
  type ObjectRequest,
  type ObjectResponse,
} from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { StoreSearch } from '../store-search.ts';
import { handleAssistants } from './assistants.ts';
import type { RunDriverPool } from './run-driver-pool.ts';
import { Runs } from './runs.ts';
import { createThread, handleMessages, handleThread } from './threads.ts';

export interface AssistantObjectsOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly drivers: RunDriverPool;
  readonly search: StoreSearch;
}

export class AssistantObjects implements ObjectFamily {
  readonly kinds: readonly ObjectKind[] = ['assistants', 'threads'];
  readonly #options: AssistantObjectsOptions;
  readonly #runs: Runs;

  constructor(options: AssistantObjectsOptions) {
    this.#options = options;
    this.#runs = new Runs(options);
  }

  listOwned(owner: Owner, kind: ObjectKind, ids: readonly string[]): Promise<readonly string[]> {
    const table = kind === 'assistants' ? 'assistants' : 'threads';
    return listOwnIds(this.#options.database.db, table, owner, ids);
  }

  async handle(request: ObjectRequest): Promise<ObjectResponse | null> {
    const { kind, id, method, rest, owner } = request;
    if (kind === 'assistants') return handleAssistants(this.#options, request);
    if (id === null) {
      const operation = [method, ...rest].join(' ');
      if (operation === 'POST') return createThread(this.#options, request);
      return operation === 'POST runs' ? this.#runs.createWithThread(request) : null;
    }
    const thread = await threads.find(this.#options.database.db, owner, id);
    if (thread === undefined) return null;
    const [part, ...behind] = rest;
    if (part === undefined) return handleThread(this.#options, request, thread);
    if (part === 'messages') return handleMessages(this.#options.database, request, thread, behind);
    if (part === 'runs') return this.#runs.handle(request, thread, behind);
    throw new ObjectError('not_found', `A thread does not support ${part}`);
  }
}
