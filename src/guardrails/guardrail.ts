/** Builds executable guardrails from stored or inline definitions. */
import type { GuardrailActions, GuardrailCheck } from '../model/guardrails/guardrail.ts';
import { inlineChecks } from '../model/guardrails/inline-guardrail.ts';
import { type StreamWindowSize, streamWindowOf } from '../model/guardrails/stream-windows.ts';
import type { Outbound } from '../upstream/outbound.ts';
import { callChecks } from './call-checks.ts';
import { CheckError, type CheckRunner } from './check.ts';
import { countingChecks } from './counting-checks.ts';
import { detectorChecks } from './detector-checks.ts';
import { outboundChecks } from './outbound-checks.ts';
import { requestChecks } from './request-checks.ts';
import type { Searches } from './searches.ts';
import { textChecks } from './text-checks.ts';
import { tokenCheck } from './token-check.ts';

/** A guardrail as stored, or written inline in a config. */
export interface GuardrailDefinition {
  /** Id of the guardrail in results. */
  readonly id: string;
  readonly checks: readonly Pick<GuardrailCheck, 'id' | 'is_enabled' | 'parameters'>[];
  readonly actions: GuardrailActions;
  /** Null for an inline guardrail. */
  readonly savedId: string | null;
}

export interface Check {
  readonly id: string;
  /** Whether an error counts as a failure; null if the guardrail decides. */
  readonly failsOnError: boolean | null;
  /** Whether the check judges texts, not only the request that contains them. */
  readonly judgesText: boolean;
  /** Whether the check runs on requests without text as well. */
  readonly isForAll: boolean;
  readonly run: CheckRunner;
}

export interface GuardrailFeedback {
  readonly value: number;
  readonly weight: number;
  readonly metadata: string;
}

export interface Guardrail {
  readonly id: string;
  /** Id of the saved guardrail; null for an inline one. */
  readonly savedId: string | null;
  readonly checks: readonly Check[];
  /** Whether a failure rejects the request; never for asynchronous guardrails. In monitor mode nothing is rejected. */
  readonly denies: boolean;
  readonly isAsync: boolean;
  /** Whether verdicts are recorded and change nothing. */
  readonly isMonitor: boolean;
  /** How a stream is judged in windows; null for one that is held back until all of it is judged. */
  readonly window: StreamWindowSize | null;
  /** Whether each check runs on the text as replaced by the previous checks. */
  readonly isSequential: boolean;
  /** Whether every error of a check counts as a failure. */
  readonly failsClosed: boolean;
  /** Whether what the checks cannot judge passes, although the guardrail denies. */
  readonly passesUnjudged: boolean;
  /** Whether all messages of a request are checked, not only the last one. */
  readonly scansAll: boolean;
  readonly feedback: { readonly success: GuardrailFeedback; readonly failure: GuardrailFeedback };
}

/** Whether a guardrail records verdicts without delaying or changing what it judges. */
export function isObserving({ isAsync, isMonitor }: Guardrail): boolean {
  return isAsync || isMonitor;
}

/** Checks of a room that this one does not import. */
export interface CheckSource {
  /** Undefined for any other check. `id` in lower case. */
  runnerOf(id: string, parameters: Readonly<Record<string, unknown>>): CheckRunner | undefined;
  /** Whether the check changes texts. */
  changesTexts(id: string, parameters: Readonly<Record<string, unknown>>): boolean;
}

export interface CheckTools {
  readonly searches: Searches;
  readonly outbound: Outbound;
  /** Consulted before the checks of this room; none by default. */
  readonly sources?: readonly CheckSource[];
}

/** Checks that change the text, so the others must wait for them. */
const transforming = new Set(['default.regexreplace', 'default.webhook', 'default.addprefix']);

export function buildGuardrail(
  { id, savedId, checks, actions }: GuardrailDefinition,
  tools: CheckTools,
): Guardrail {
  const enabled = checks.filter(({ is_enabled: isEnabled }) => isEnabled !== false);
  const isAsync = actions.async === true;
  return {
    id,
    savedId,
    isAsync,
    isMonitor: actions.mode === 'monitor',
    window: streamWindowOf(enabled, actions.stream),
    checks: enabled.map((check) => buildCheck(check, tools)),
    denies: actions.deny === true && !isAsync,
    isSequential: actions.sequential === true || enabled.some((one) => changesTexts(one, tools)),
    failsClosed: actions.fail_closed === true,
    passesUnjudged: actions.on_unsupported === 'pass',
    scansAll: actions.scan_scope === 'all_messages',
    feedback: {
      success: feedbackOf(actions.on_success, 5),
      failure: feedbackOf(actions.on_fail, -5),
    },
  };
}

function changesTexts(
  { id, parameters = {} }: GuardrailDefinition['checks'][number],
  { sources = [] }: CheckTools,
): boolean {
  const name = id.toLowerCase();
  if (transforming.has(name) || (Object.hasOwn(detectorChecks, name) && parameters.redact === true))
    return true;
  return sources.some((source) => source.changesTexts(name, parameters));
}

/** Reads an inline guardrail: a hook with `checks`, or checks by id. `name` is its id if it has none. */
export function readInlineGuardrail(
  item: Readonly<Record<string, unknown>>,
  name: string,
): GuardrailDefinition {
  const id = typeof item.id === 'string' ? item.id : name;
  const checks = Array.isArray(item.checks)
    ? (item.checks as GuardrailDefinition['checks'])
    : inlineChecks(item);
  return { id, savedId: null, checks, actions: item as GuardrailActions };
}

function buildCheck(check: GuardrailDefinition['checks'][number], tools: CheckTools): Check {
  const { id, parameters = {} } = check;
  const name = id.toLowerCase();
  const isForAll = name === 'default.allowedrequesttypes' || parameters.executeOnProxy === true;
  const judgesText = !textlessChecks.has(name);
  const run = checkRunner(name, parameters, tools);
  return { id, failsOnError: failsOnErrorOf(name, parameters), judgesText, isForAll, run };
}

/** Checks that do not look at texts, or that record them without judging. */
const textlessChecks: ReadonlySet<string> = new Set([
  ...Object.keys(requestChecks),
  'default.jwt',
  'default.log',
]);

function failsOnErrorOf(
  name: string,
  { failOnError }: Readonly<Record<string, unknown>>,
): boolean | null {
  // A caller who cannot be authenticated must not pass.
  if (name === 'default.jwt') return true;
  if (typeof failOnError === 'boolean') return failOnError;
  return name === 'default.log' ? false : null;
}

/** Parameters may be missing, or come from rows written by other versions. */
function checkRunner(
  name: string,
  parameters: Readonly<Record<string, unknown>>,
  { searches, outbound, sources = [] }: CheckTools,
): CheckRunner {
  try {
    for (const source of sources) {
      const runner = source.runnerOf(name, parameters);
      if (runner !== undefined) return runner;
    }
    return (
      countingChecks[name]?.(parameters) ??
      requestChecks[name]?.(parameters, searches) ??
      textChecks[name]?.(parameters, searches) ??
      detectorChecks[name]?.(parameters, searches) ??
      outboundChecks[name]?.(parameters, outbound) ??
      callChecks[name]?.(parameters, { searches, outbound }) ??
      (name === 'default.jwt' ? tokenCheck(parameters, searches, outbound) : rejectUnsupported)
    );
  } catch {
    return rejectParameters;
  }
}

const rejectParameters: CheckRunner = () => {
  throw new CheckError('the parameters of the check are not valid');
};

/** Runs in place of the checks of partners, and of unknown checks that other versions have stored. */
const rejectUnsupported: CheckRunner = () => {
  throw new CheckError('this gateway does not support the check');
};

function feedbackOf(
  consequence: GuardrailActions['on_fail'],
  defaultValue: number,
): GuardrailFeedback {
  const { value = defaultValue, weight = 1, metadata = '' } = consequence?.feedback ?? {};
  return { value, weight, metadata };
}
