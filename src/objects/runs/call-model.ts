/** Calls the model for one turn of a run. */
import type { RunTerms } from '../../model/objects/run.ts';
import type { Database } from '../../store/connection/db.ts';
import * as runSteps from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as threadMessages from '../../store/objects/thread-messages.ts';
import type { ModelCalls, ModelResponse } from '../model-calls.ts';
import { type ModelTurn, parseTurn, TurnAssembler } from './model-turn.ts';
import { chatParams, type PromptParts } from './prompt.ts';
import { failureOf, type RunFailure } from './run-failure.ts';

/** Maximum thread messages in the prompt of one turn. */
const messagesMax = 1_000;

/** Reads the parts of the prompt from the database. */
export async function readPromptParts(
  { db }: Pick<Database, 'db'>,
  run: StoredRun,
): Promise<PromptParts> {
  const thread = { organisation_id: run.organisation_id, id: run.thread_id };
  const latest = { limit: messagesMax, order: 'desc', after: null, before: null } as const;
  const messages = await threadMessages.list(db, thread, latest);
  const steps = run.turn === 0 ? [] : await runSteps.listAll(db, run);
  return { run, terms: JSON.parse(run.terms) as RunTerms, messages: messages.reverse(), steps };
}

/** Wraps calls so that an abort resolves pending ones immediately with status 499. */
export function abortableCalls(models: ModelCalls, signal: AbortSignal): ModelCalls {
  const { promise: aborted, resolve } = Promise.withResolvers<ModelResponse>();
  const noResponse: ModelResponse = { status: 499, body: null };
  signal.addEventListener('abort', () => resolve(noResponse), { once: true });
  return {
    call: async (path, params, { onEvent } = {}) => {
      if (signal.aborted) return noResponse;
      const forward = (data: string): void => {
        if (!signal.aborted) onEvent?.(data);
      };
      const response = models.call(path, params, {
        signal,
        ...(onEvent === undefined ? {} : { onEvent: forward }),
      });
      return Promise.race([response, aborted]);
    },
  };
}

/** `onText` receives the text of the model as it arrives; null if no caller streams. */
export async function callModel(
  parts: PromptParts,
  models: ModelCalls,
  onText: ((text: string) => void) | null,
): Promise<ModelTurn | RunFailure> {
  const stream = new TurnAssembler();
  const onEvent = (data: string): void => onText?.(stream.addEvent(data));
  const options = onText === null ? {} : { onEvent };
  const response = await models.call(
    '/chat/completions',
    chatParams(parts, onText !== null),
    options,
  );
  if (response.status !== 200) return failureOfResponse(response);
  const whole = parseTurn(response.body);
  const isStreamed = whole === null && onText !== null;
  if (isStreamed && stream.fault !== null) {
    return failureOf({ status: null, message: stream.fault });
  }
  const turn = isStreamed ? stream.turn() : whole;
  if (turn !== null && (turn.finish !== null || turn.text !== '' || turn.calls.length > 0)) {
    return turn;
  }
  return { code: 'server_error', message: 'The model returned no chat completion' };
}

/** Converts an error response to the failure of the run. */
function failureOfResponse({ status, body }: ModelResponse): RunFailure {
  const error = (body as { readonly error?: { readonly message?: unknown } } | null)?.error;
  const text =
    typeof error?.message === 'string' ? error.message : `The model returned status ${status}`;
  return failureOf({ status, message: text });
}
