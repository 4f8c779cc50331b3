/** Handles runs: create, read, submit tool outputs, cancel, and list steps. */
import { RunCreate, ThreadAndRunCreate, ToolOutputsSubmit } from '../../model/objects/run.ts';
import type { ToolResources } from '../../model/objects/run-tool.ts';
import type { Database } from '../../store/connection/db.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import * as threadMessages from '../../store/objects/thread-messages.ts';
import type { StoredThread } from '../../store/objects/threads.ts';
import * as threads from '../../store/objects/threads.ts';
import { isDuplicateEntry } from '../../store/rows/duplicate.ts';
import { readParams } from '../object-params.ts';
import { ObjectError, type ObjectRequest, type ObjectResponse } from '../object-request.ts';
import type { StoreSearch } from '../store-search.ts';
import { draftRun } from './draft-run.ts';
import { expireIfOver } from './move-run.ts';
import { respondWithPage } from './pages.ts';
import { runRecord, stepRecord, threadRecord } from './records.ts';
import { cancelRun, submitOnce } from './run-changes.ts';
import type { RunDriverPool } from './run-driver-pool.ts';
import { RunEvents } from './run-events.ts';
import { requireSearchableStores } from './searchable-stores.ts';
import { handleSteps } from './steps.ts';
import {
  insertThread,
  messageRows,
  requireNoActiveRun,
  threadNotFound,
  updatedMetadata,
} from './threads.ts';

export interface RunsOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly drivers: RunDriverPool;
  readonly search: StoreSearch;
}

export class Runs {
  readonly #options: RunsOptions;

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** Creates a thread and a run in one request. */
  async createWithThread(request: ObjectRequest): Promise<ObjectResponse> {
    const body = readParams(ThreadAndRunCreate, request.params);
    const { search } = this.#options;
    await requireSearchableStores(search, request, body.tool_resources);
    await requireSearchableStores(search, request, body.thread?.tool_resources);
    const draft = await draftRun(this.#options, request, body, body.thread?.tool_resources ?? null);
    const { thread, run } = await this.#options.database.transaction(async (tx) => {
      const created = await insertThread(tx, request, body.thread ?? {});
      const row = { ...draft, thread_id: created.id };
      await runs.insert(tx, row);
      return { thread: created, run: row };
    });
    return this.#begin(run, body.stream === true, thread);
  }

  /** `behind` contains the path segments after `/runs`. */
  async handle(
    request: ObjectRequest,
    thread: StoredThread,
    [id, ...behind]: readonly string[],
  ): Promise<ObjectResponse> {
    const { database } = this.#options;
    const { method, query, now } = request;
    if (id === undefined) {
      if (method === 'POST') return this.#create(request, thread);
      if (method !== 'GET') throw noSuch(method);
      return respondWithPage(query, {
        find: (anchorId) => runs.find(database.db, thread, anchorId),
        list: async (page) =>
          Promise.all(
            (await runs.list(database.db, thread, page)).map((row) =>
              expireIfOver(database, row, now),
            ),
          ),
        record: runRecord,
      });
    }
    const stored = await runs.find(database.db, thread, id);
    if (stored === undefined) throw noSuch('run with this id');
    const run = await expireIfOver(database, stored, now);
    return this.#handleRun(request, run, behind);
  }

  async #handleRun(
    request: ObjectRequest,
    run: StoredRun,
    behind: readonly string[],
  ): Promise<ObjectResponse> {
    const { db } = this.#options.database;
    const { method, query, params, now } = request;
    const [part, stepId] = behind;
    if (method === 'GET' && part === 'steps' && behind.length <= 2) {
      return handleSteps(db, query, run, stepId);
    }
    switch ([method, ...behind].join(' ')) {
      case 'GET':
        return { body: runRecord(run) };
      case 'POST': {
        const metadata = updatedMetadata(params, run.metadata);
        await runs.updateMetadata(db, run, metadata);
        return { body: runRecord({ ...run, metadata }) };
      }
      case 'POST cancel':
        return { body: runRecord(await cancelRun(this.#options, run, now)) };
      case 'POST submit_tool_outputs':
        return this.#submit(request, run);
      default:
        throw noSuch([method, 'runs', ...behind].join(' '));
    }
  }

  async #create(request: ObjectRequest, thread: StoredThread): Promise<ObjectResponse> {
    const { database } = this.#options;
    const body = readParams(RunCreate, request.params);
    const resources = JSON.parse(thread.tool_resources) as ToolResources;
    const draft = await draftRun(this.#options, request, body, resources);
    const run = { ...draft, thread_id: thread.id };
    await requireNoActiveRun(database, thread, request.now);
    const messages = messageRows(thread, body.additional_messages ?? [], request.now);
    try {
      await database.transaction(async (tx) => {
        if (!(await threads.use(tx, thread, request.now))) throw threadNotFound();
        await runs.insert(tx, run);
        await threadMessages.insert(tx, messages);
      });
    } catch (thrown) {
      if (!isDuplicateEntry(thrown)) throw thrown;
      throw new ObjectError('invalid_request', 'Another run of this thread is active');
    }
    return this.#begin(run, body.stream === true, null);
  }

  #begin(run: StoredRun, isStream: boolean, thread: StoredThread | null): ObjectResponse {
    const events = isStream ? new RunEvents() : null;
    if (thread !== null) events?.emit('thread.created', threadRecord(thread));
    events?.emit('thread.run.created', runRecord(run));
    return this.#drive(run, events);
  }

  #drive(run: StoredRun, events: RunEvents | null): ObjectResponse {
    events?.emit('thread.run.queued', runRecord(run));
    this.#options.drivers.drive(run, events);
    return { body: events ?? runRecord(run) };
  }

  async #submit(request: ObjectRequest, run: StoredRun): Promise<ObjectResponse> {
    const body = readParams(ToolOutputsSubmit, request.params);
    const submitted = await submitOnce(this.#options, run, body, request);
    if (submitted === null) return { body: runRecord(run) };
    const { run: goingOn, step } = submitted;
    const events = body.stream === true ? new RunEvents() : null;
    events?.emit('thread.run.step.completed', stepRecord(step));
    return this.#drive(goingOn, events);
  }
}

function noSuch(what: string): ObjectError {
  return new ObjectError('not_found', `The thread has no ${what}`);
}
