/** Knows how a model is asked for one turn of a run, and how its refusal reads there. */
import type { RunTerms } from '../../model/run.ts';
import type { Database } from '../../store/connection/db.ts';
import * as runSteps from '../../store/tables/run-steps.ts';
import type { StoredRun } from '../../store/tables/runs.ts';
import * as threadMessages from '../../store/tables/thread-messages.ts';
import type { ModelAnswer, ModelCaller, ModelCallsOf } from '../model-calls.ts';
import { type ModelTurn, TurnParts, turnOfAnswer } from './model-turn.ts';
import { chatParams, type PromptParts } from './prompt.ts';
import type { RunFailure } from './records.ts';

/** Of a thread, as much as one turn is told at most. */
const messagesMax = 1_000;
const messageCharsMax = 2_000;

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

export interface Asking {
  readonly callsOf: ModelCallsOf;
  /** Aborted when nobody wants the answer any more. */
  readonly signal: AbortSignal;
  /** Gets what the model says as it says it; null where nobody listens. */
  readonly onText: ((text: string) => void) | null;
}

/** Null where nobody wants the answer any more. */
export async function askModel(
  parts: PromptParts,
  { callsOf, signal, onText }: Asking,
): Promise<ModelTurn | RunFailure | null> {
  if (signal.aborted) return null;
  const stream = new TurnParts();
  const onEvent = (data: string): void => {
    if (!signal.aborted) onText?.(stream.event(data));
  };
  const gone = Promise.withResolvers<null>();
  signal.addEventListener('abort', () => gone.resolve(null), { once: true });
  const calls = callsOf(JSON.parse(parts.run.caller) as ModelCaller);
  const asked = calls.call('/chat/completions', chatParams(parts, onText !== null), {
    ...{ signal },
    ...(onText === null ? {} : { onEvent }),
  });
  const answer = await Promise.race([asked, gone.promise]);
  if (answer === null || signal.aborted) return null;
  if (answer.status !== 200) return refusal(answer);
  const turn = turnOfAnswer(answer.body) ?? (onText === null ? null : stream.turn());
  if (turn !== null && (turn.finish !== null || turn.text !== '' || turn.calls.length > 0)) {
    return turn;
  }
  return { code: 'server_error', message: 'The model has answered nothing that is a chat' };
}

/** As callers read it; a limit of the gateway is one of those that come back. */
function refusal({ status, body }: ModelAnswer): RunFailure {
  const said = (body as { readonly error?: { readonly message?: unknown } } | null)?.error;
  const text = typeof said?.message === 'string' ? said.message : `The model answered ${status}`;
  return { code: codes.get(status) ?? 'server_error', message: text.slice(0, messageCharsMax) };
}

const codes = new Map([
  [400, 'invalid_prompt'],
  [422, 'invalid_prompt'],
  [446, 'invalid_prompt'],
  [412, 'rate_limit_exceeded'],
  [429, 'rate_limit_exceeded'],
]);
