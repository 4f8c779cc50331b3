/** Formats assistants, threads, messages, runs and steps for responses. */
import type { RunTerms } from '../../model/objects/run.ts';
import { hasEnded } from '../../model/objects/run-states.ts';
import type { MessagePart } from '../../model/objects/thread.ts';
import type { StoredAssistant } from '../../store/objects/assistants.ts';
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import type { StoredMessage } from '../../store/objects/thread-messages.ts';
import type { StoredThread } from '../../store/objects/threads.ts';
import { callForResponse, callsIn } from './step-calls.ts';

export function assistantRecord(row: StoredAssistant) {
  return {
    id: row.id,
    object: 'assistant',
    created_at: seconds(row.created_at),
    name: row.name,
    description: row.description,
    ...(JSON.parse(row.terms) as object),
    metadata: JSON.parse(row.metadata),
  };
}

export function threadRecord(row: StoredThread) {
  return {
    id: row.id,
    object: 'thread',
    created_at: seconds(row.created_at),
    tool_resources: JSON.parse(row.tool_resources),
    metadata: JSON.parse(row.metadata),
  };
}

export function messageRecord(row: StoredMessage) {
  const { incomplete_reason: reason } = row;
  const at = seconds(row.created_at);
  return {
    id: row.id,
    object: 'thread.message',
    created_at: at,
    thread_id: row.thread_id,
    status: reason === null ? 'completed' : 'incomplete',
    incomplete_details: reason === null ? null : { reason },
    completed_at: reason === null ? at : null,
    incomplete_at: reason === null ? null : at,
    role: row.role,
    content: JSON.parse(row.content) as MessagePart[],
    attachments: [],
    assistant_id: row.assistant_id,
    run_id: row.run_id,
    metadata: JSON.parse(row.metadata),
  };
}

export function runRecord(row: StoredRun) {
  const { status, ended_at: endedAt } = row;
  const failure = row.failure === null ? null : JSON.parse(row.failure);
  const calls = row.pending_calls === null ? null : JSON.parse(row.pending_calls);
  const { vector_store_ids: _, ...terms } = JSON.parse(row.terms) as RunTerms;
  const endedIn = (state: StoredRun['status']) => (status === state ? seconds(endedAt) : null);
  return {
    id: row.id,
    object: 'thread.run',
    created_at: seconds(row.created_at),
    thread_id: row.thread_id,
    assistant_id: row.assistant_id,
    status,
    required_action:
      calls === null
        ? null
        : { type: 'submit_tool_outputs', submit_tool_outputs: { tool_calls: calls } },
    last_error: status === 'failed' ? failure : null,
    incomplete_details: status === 'incomplete' ? failure : null,
    expires_at: hasEnded(status) ? null : seconds(row.expires_at),
    started_at: seconds(row.started_at),
    cancelled_at: endedIn('cancelled'),
    failed_at: endedIn('failed'),
    completed_at: endedIn('completed'),
    ...terms,
    metadata: JSON.parse(row.metadata),
    usage: hasEnded(status) ? usageOf(row) : null,
  };
}

/** Texts of search results are included only on request. */
export function stepRecord(row: StoredStep, showsTexts = false) {
  const { status, ended_at: endedAt } = row;
  const { type, ...rest } = JSON.parse(row.details) as { readonly type: string };
  const details =
    type === 'tool_calls'
      ? { type, tool_calls: callsIn(row.details).map((call) => callForResponse(call, showsTexts)) }
      : { type, ...rest };
  const endedIn = (state: StoredStep['status']) => (status === state ? seconds(endedAt) : null);
  return {
    id: row.id,
    object: 'thread.run.step',
    created_at: seconds(row.created_at),
    run_id: row.run_id,
    assistant_id: row.assistant_id,
    thread_id: row.thread_id,
    type,
    status,
    step_details: details,
    completed_at: endedIn('completed'),
    cancelled_at: endedIn('cancelled'),
    failed_at: endedIn('failed'),
    expired_at: endedIn('expired'),
    last_error: null,
    metadata: {},
    usage: status === 'in_progress' ? null : usageOf(row),
  };
}

function usageOf({
  prompt_tokens: prompt,
  completion_tokens: completion,
}: Pick<StoredRun, 'prompt_tokens' | 'completion_tokens'>) {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function seconds(ms: number): number;
function seconds(ms: number | null): number | null;
function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
