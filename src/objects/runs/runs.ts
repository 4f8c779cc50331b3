/** Knows runs as callers make them, hand in what functions yield, cancel them and look at their steps. */
import type { AssistantTerms } from '../../model/objects/assistant.ts';
import {
  RunCreate,
  type RunTerms,
  runLifetimeMs,
  runTermsOf,
  ThreadAndRunCreate,
  ToolOutputsSubmit,
} from '../../model/objects/run.ts';
import type { ToolResources } from '../../model/objects/run-tool.ts';
import type { Database } from '../../store/connection/db.ts';
import * as assistants from '../../store/objects/assistants.ts';
import { isDuplicateEntry } from '../../store/rows/duplicate.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as runs from '../../store/objects/runs.ts';
import * as threadMessages from '../../store/objects/thread-messages.ts';
import type { StoredThread } from '../../store/objects/threads.ts';
import * as threads from '../../store/objects/threads.ts';
import { newObjectId } from '../object-id.ts';
import { readParams } from '../object-params.ts';
import { type ObjectAnswer, ObjectError, type ObjectRequest } from '../object-request.ts';
import type { StoreSearch } from '../store-search.ts';
import { searchToolOf } from './file-search.ts';
import { answerPage } from './pages.ts';
import { runRecord, stepRecord, threadRecord } from './records.ts';
import { cancelRun, submitOnce } from './run-changes.ts';
import type { RunDrivers } from './run-drivers.ts';
import { settled } from './run-ending.ts';
import { RunEvents } from './run-events.ts';
import { requireSearchable } from './searched-stores.ts';
import { answerSteps } from './steps.ts';
import { insertThread, messageRows, metadataOf, refuseActive } from './threads.ts';

export interface RunsOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly drivers: RunDrivers;
  readonly search: StoreSearch;
}

export class Runs {
  readonly #options: RunsOptions;

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** A thread with a run in it, in one request. */
  async createWithThread(request: ObjectRequest): Promise<ObjectAnswer> {
    const asked = readParams(ThreadAndRunCreate, request.params);
    const { search } = this.#options;
    await requireSearchable(search, request, asked.tool_resources);
    await requireSearchable(search, request, asked.thread?.tool_resources);
    const draft = await this.#draft(request, asked, asked.thread?.tool_resources ?? null);
    const { thread, run } = await this.#options.database.transaction(async (tx) => {
      const made = await insertThread(tx, request, asked.thread ?? {});
      const row = { ...draft, thread_id: made.id };
      await runs.insert(tx, row);
      return { thread: made, run: row };
    });
    return this.#begin(run, asked.stream === true, thread);
  }

  /** `behind` is what follows `/runs`. */
  async answer(
    request: ObjectRequest,
    thread: StoredThread,
    [id, ...behind]: readonly string[],
  ): Promise<ObjectAnswer> {
    const { database } = this.#options;
    const { method, query, now } = request;
    if (id === undefined) {
      if (method === 'POST') return this.#create(request, thread);
      if (method !== 'GET') throw noSuch(method);
      return answerPage(query, {
        find: (one) => runs.find(database.db, thread, one),
        list: async (page) =>
          Promise.all(
            (await runs.list(database.db, thread, page)).map((row) => settled(database, row, now)),
          ),
        record: runRecord,
      });
    }
    const found = await runs.find(database.db, thread, id);
    if (found === undefined) throw noSuch('run of this id');
    const run = await settled(database, found, now);
    return this.#answerOne(request, run, behind);
  }

  async #answerOne(
    request: ObjectRequest,
    run: StoredRun,
    behind: readonly string[],
  ): Promise<ObjectAnswer> {
    const { db } = this.#options.database;
    const { method, query, params, now } = request;
    const [word, stepId] = behind;
    if (method === 'GET' && word === 'steps' && behind.length <= 2) {
      return answerSteps(db, query, run, stepId);
    }
    switch ([method, ...behind].join(' ')) {
      case 'GET':
        return { body: runRecord(run) };
      case 'POST': {
        const metadata = metadataOf(params, run.metadata);
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

  async #create(request: ObjectRequest, thread: StoredThread): Promise<ObjectAnswer> {
    const { database } = this.#options;
    const asked = readParams(RunCreate, request.params);
    const resources = JSON.parse(thread.tool_resources) as ToolResources;
    const draft = await this.#draft(request, asked, resources);
    const run = { ...draft, thread_id: thread.id };
    await refuseActive(database, thread, request.now);
    const messages = messageRows(thread, asked.additional_messages ?? [], request.now);
    try {
      await database.transaction(async (tx) => {
        if (!(await threads.use(tx, thread, request.now))) throw noSuch('such thread');
        await runs.insert(tx, run);
        await threadMessages.insert(tx, messages);
      });
    } catch (thrown) {
      if (!isDuplicateEntry(thrown)) throw thrown;
      throw new ObjectError('invalid_request', 'Another run of this thread has not ended');
    }
    return this.#begin(run, asked.stream === true, null);
  }

  /** Of a thread that is still to be named. */
  async #draft(
    { owner, now, modelCaller }: ObjectRequest,
    asked: RunCreate | ThreadAndRunCreate,
    ofThread: ToolResources | null,
  ): Promise<StoredRun> {
    const { db } = this.#options.database;
    const assistant = await assistants.find(db, owner, asked.assistant_id);
    if (assistant === undefined) {
      throw new ObjectError('not_found', 'There is no assistant of this id', 'assistant_id');
    }
    const terms = runTermsOf(asked, JSON.parse(assistant.terms) as AssistantTerms, ofThread);
    requireChoice(terms);
    const caller = modelCaller();
    const lease = this.#options.drivers.newLease();
    return {
      ...{ organisation_id: owner.organisationId, id: newObjectId('run'), thread_id: '' },
      ...{ assistant_id: assistant.id, status: 'queued', active: 1 },
      terms: JSON.stringify(terms),
      ...{ metadata: JSON.stringify(asked.metadata ?? {}), caller: JSON.stringify(caller) },
      ...{ turn: 0, pending_calls: null, failure: null, prompt_tokens: 0, completion_tokens: 0 },
      ...{ lease_owner: lease.owner, lease_until: lease.until, lease_count: 1 },
      ...{ created_at: now, started_at: null, ended_at: null, expires_at: now + runLifetimeMs },
    };
  }

  #begin(run: StoredRun, isStream: boolean, thread: StoredThread | null): ObjectAnswer {
    const events = isStream ? new RunEvents() : null;
    if (thread !== null) events?.tell('thread.created', threadRecord(thread));
    events?.tell('thread.run.created', runRecord(run));
    return this.#drive(run, events);
  }

  #drive(run: StoredRun, events: RunEvents | null): ObjectAnswer {
    events?.tell('thread.run.queued', runRecord(run));
    this.#options.drivers.drive(run, events);
    return { body: events ?? runRecord(run) };
  }

  async #submit(request: ObjectRequest, run: StoredRun): Promise<ObjectAnswer> {
    const asked = readParams(ToolOutputsSubmit, request.params);
    const submitted = await submitOnce(this.#options, run, asked, request);
    if (submitted === null) return { body: runRecord(run) };
    const { goingOn, step } = submitted;
    const events = asked.stream === true ? new RunEvents() : null;
    events?.tell('thread.run.step.completed', stepRecord(step));
    return this.#drive(goingOn, events);
  }
}

/** @throws ObjectError where a search is forced that the run cannot do */
function requireChoice(terms: RunTerms): void {
  const { tool_choice: choice } = terms;
  const isForced = typeof choice === 'object' && choice.type === 'file_search';
  if (!isForced || searchToolOf(terms) !== null) return;
  const message =
    'tool_choice: the run searches no files: it needs the tool file_search, and a vector store in tool_resources of its assistant or thread';
  throw new ObjectError('invalid_request', message, 'tool_choice');
}

function noSuch(what: string): ObjectError {
  return new ObjectError('not_found', `The thread has no ${what}`);
}
