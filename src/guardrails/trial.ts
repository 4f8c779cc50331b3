/** Has one guardrail judge a text for a trial: nothing is sent to services, charged or logged. */
import type {
  GuardrailTrialRequest,
  GuardrailTrialResult,
} from '../model/guardrails/guardrail-trial.ts';
import { remoteCheckKinds } from '../model/guardrails/remote-check-kinds.ts';
import { evaluateGuardrails, type HookResult } from './evaluate.ts';
import { buildGuardrail, type CheckTools, type GuardrailDefinition } from './guardrail.ts';
import type { Passage } from './texts/passages.ts';

/** Checks that call other services, by id in lower case. */
export const callingChecks: ReadonlySet<string> = new Set([
  ...Object.keys(remoteCheckKinds).map((id) => id.toLowerCase()),
  'default.webhook',
  'default.log',
  'default.validurls',
  'default.jwt',
  'default.inlineimageurls',
]);

type CheckDefinition = GuardrailDefinition['checks'][number];

/** Whether a mounted model runs the check, which only inference gateways have. */
export function needsModel({ id, parameters }: CheckDefinition): boolean {
  return id.toLowerCase() === 'gatewright.model' || parameters?.model === true;
}

/** Judges the text as one message. A guardrail that only observes is judged as if it decided. */
export async function tryGuardrail(
  definition: GuardrailDefinition,
  tried: GuardrailTrialRequest,
  tools: CheckTools,
): Promise<GuardrailTrialResult> {
  const enabled = definition.checks.filter(({ is_enabled: isEnabled }) => isEnabled !== false);
  const isRun = (check: CheckDefinition): boolean =>
    !callingChecks.has(check.id.toLowerCase()) && !needsModel(check);
  const run = enabled.filter(isRun);
  const built = buildGuardrail({ ...definition, checks: run }, tools);
  const denies = definition.actions.deny === true;
  const deciding = { ...built, isMonitor: false, isAsync: false, denies };
  const judgement = await evaluateGuardrails([deciding], subjectOf(tried), 0);
  const [result] = judgement.results;
  const text = judgement.passages[0]!.text;
  const judged = new Map(run.map((check, at) => [check, result!.checks[at]!]));
  const isChanged = text !== tried.text || judgement.members.length > 0;
  const passed = isChanged ? 'changed' : 'passed';
  return {
    object: 'guardrail_trial',
    verdict: judgement.isDenied ? 'denied' : result!.verdict ? passed : 'failed',
    text,
    checks: enabled.map((check) => triedCheck(check, judged.get(check))),
  };
}

/** A check without a result was not run. */
function triedCheck(
  { id }: CheckDefinition,
  result: HookResult['checks'][number] | undefined,
): GuardrailTrialResult['checks'][number] {
  if (result === undefined) {
    const explanation = 'a trial calls no service and no model';
    return { id, verdict: 'skipped', duration_ms: 0, explanation };
  }
  const { error, data, verdict, execution_time: duration_ms } = result;
  const explanation = error?.message ?? (data as { readonly explanation: string }).explanation;
  const outcome = verdict ? 'passed' : 'failed';
  return { id, verdict: error === undefined ? outcome : 'unjudged', duration_ms, explanation };
}

function subjectOf({ text, side }: GuardrailTrialRequest) {
  const message = { role: side === 'input' ? 'user' : 'assistant', content: text };
  const json = side === 'input' ? { messages: [message] } : { choices: [{ index: 0, message }] };
  const path = side === 'input' ? ['messages', 0, 'content'] : ['choices', 0, 'message', 'content'];
  const passages: Passage[] = [{ path, text }];
  return {
    side,
    endpoint: 'chat_completions',
    isStream: false,
    params: side === 'input' ? json : {},
    answer: side === 'input' ? null : { status: 200, json },
    passages,
    lastCount: 1,
    unreadable: null,
    metadata: {},
    headers: {},
    provider: 'trial',
    model: null,
    traceId: 'trial',
  };
}
