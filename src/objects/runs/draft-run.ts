/** Builds the row of a new run from its request and its assistant. */
import type { AssistantTerms } from '../../model/objects/assistant.ts';
import {
  type RunCreate,
  type RunTerms,
  runLifetimeMs,
  runTermsOf,
  type ThreadAndRunCreate,
} from '../../model/objects/run.ts';
import type { ToolResources } from '../../model/objects/run-tool.ts';
import type { Database } from '../../store/connection/db.ts';
import * as assistants from '../../store/objects/assistants.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import { newObjectId } from '../object-id.ts';
import { ObjectError, type ObjectRequest } from '../object-request.ts';
import { searchToolOf } from './file-search.ts';
import type { RunDriverPool } from './run-driver-pool.ts';

interface DraftOptions {
  readonly database: Pick<Database, 'db'>;
  readonly drivers: RunDriverPool;
}

/** Returns the row of a new run without the id of its thread. @throws ObjectError for an unknown assistant */
export async function draftRun(
  { database: { db }, drivers }: DraftOptions,
  { owner, now, modelCaller }: ObjectRequest,
  body: RunCreate | ThreadAndRunCreate,
  threadResources: ToolResources | null,
): Promise<StoredRun> {
  const assistant = await assistants.find(db, owner, body.assistant_id);
  if (assistant === undefined) {
    throw new ObjectError('not_found', 'The assistant does not exist', 'assistant_id');
  }
  const terms = runTermsOf(body, JSON.parse(assistant.terms) as AssistantTerms, threadResources);
  requireChoice(terms);
  const caller = modelCaller();
  const lease = drivers.newLease();
  return {
    organisation_id: owner.organisationId,
    id: newObjectId('run'),
    thread_id: '',
    assistant_id: assistant.id,
    status: 'queued',
    active: 1,
    terms: JSON.stringify(terms),
    metadata: JSON.stringify(body.metadata ?? {}),
    caller: JSON.stringify(caller),
    turn: 0,
    pending_calls: null,
    failure: null,
    prompt_tokens: 0,
    completion_tokens: 0,
    lease_owner: lease.owner,
    lease_until: lease.until,
    lease_count: 1,
    created_at: now,
    started_at: null,
    ended_at: null,
    expires_at: now + runLifetimeMs,
  };
}

/** @throws ObjectError if file search is forced but not available to the run */
function requireChoice(terms: RunTerms): void {
  const { tool_choice: choice } = terms;
  const isForced = typeof choice === 'object' && choice.type === 'file_search';
  if (!isForced || searchToolOf(terms) !== null) return;
  const message =
    'tool_choice: the run cannot search files: it requires the tool file_search and a vector store in tool_resources of its assistant or thread';
  throw new ObjectError('invalid_request', message, 'tool_choice');
}
