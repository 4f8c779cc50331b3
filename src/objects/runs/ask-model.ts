/** Knows how a model is asked for one turn of a run, and how its refusal reads there. */
import type { RunTerms } from '../../model/objects/run.ts';
import type { Database } from '../../store/connection/db.ts';
import * as runSteps from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import * as threadMessages from '../../store/objects/thread-messages.ts';
import type { ModelAnswer, ModelCalls } from '../model-calls.ts';
import { type ModelTurn, TurnParts, turnOfAnswer } from './model-turn.ts';
import { chatParams, type PromptParts } from './prompt.ts';
import { failureOf, type RunFailure } from './run-failure.ts';

/** Of a thread, as much as one turn is told at most. */
const messagesMax = 1_000;

/** What the database knows of what is to be said to the model. */
export async function promptParts(
  { db }: Pick<Database, 'db'>,
  run: StoredRun,
): Promise<PromptParts> {
  const thread = { organisation_id: run.organisation_id, id: run.thread_id };
  const latest = { limit: messagesMax, order: 'desc', after: null, before: null } as const;
  const messages = await threadMessages.list(db, thread, latest);
  const steps = run.turn === 0 ? [] : await runSteps.listAll(db, run);
  return { run, terms: JSON.parse(run.terms) as RunTerms, messages: messages.reverse(), steps };
}

/** Those calls, until nobody wants their answers any more: whoever waits for one then gets none. */
export function wantedCalls(models: ModelCalls, signal: AbortSignal): ModelCalls {
  const { promise: gone, resolve } = Promise.withResolvers<ModelAnswer>();
  const none: ModelAnswer = { status: 499, body: null };
  signal.addEventListener('abort', () => resolve(none), { once: true });
  return {
    call: async (path, params, { onEvent } = {}) => {
      if (signal.aborted) return none;
      const heard = (data: string): void => {
        if (!signal.aborted) onEvent?.(data);
      };
      const asked = models.call(path, params, {
        ...{ signal },
        ...(onEvent === undefined ? {} : { onEvent: heard }),
      });
      return Promise.race([asked, gone]);
    },
  };
}

/** `onText` gets what the model says as it says it; null where nobody listens. */
export async function askModel(
  parts: PromptParts,
  models: ModelCalls,
  onText: ((text: string) => void) | null,
): Promise<ModelTurn | RunFailure> {
  const stream = new TurnParts();
  const onEvent = (data: string): void => onText?.(stream.event(data));
  const options = onText === null ? {} : { onEvent };
  const answer = await models.call(
    '/chat/completions',
    chatParams(parts, onText !== null),
    options,
  );
  if (answer.status !== 200) return refusal(answer);
  const whole = turnOfAnswer(answer.body);
  const isStreamed = whole === null && onText !== null;
  if (isStreamed && stream.fault !== null) {
    return failureOf({ status: null, message: stream.fault });
  }
  const turn = isStreamed ? stream.turn() : whole;
  if (turn !== null && (turn.finish !== null || turn.text !== '' || turn.calls.length > 0)) {
    return turn;
  }
  return { code: 'server_error', message: 'The model has answered nothing that is a chat' };
}

/** As callers read it; a limit of the gateway is one of those that come back. */
function refusal({ status, body }: ModelAnswer): RunFailure {
  const said = (body as { readonly error?: { readonly message?: unknown } } | null)?.error;
  const text = typeof said?.message === 'string' ? said.message : `The model answered ${status}`;
  return failureOf({ status, message: text });
}
