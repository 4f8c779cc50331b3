/** Knows how a guardrail is made ready to judge: its checks, and what its verdict leads to. */
import type { GuardrailActions, GuardrailCheck } from '../model/guardrails/guardrail.ts';
import { inlineChecks } from '../model/guardrails/inline-guardrail.ts';
import type { Outbound } from '../upstream/outbound.ts';
import { CheckError, type Judge } from './check.ts';
import { countingChecks } from './counting-checks.ts';
import { outboundChecks } from './outbound-checks.ts';
import { requestChecks } from './request-checks.ts';
import type { Searches } from './searches.ts';
import { textChecks } from './text-checks.ts';
import { tokenCheck } from './token-check.ts';

/** As stored, or written into a config. */
export interface GuardrailDefinition {
  /** By which results name it. */
  readonly id: string;
  readonly checks: readonly Pick<GuardrailCheck, 'id' | 'is_enabled' | 'parameters'>[];
  readonly actions: GuardrailActions;
}

export interface Check {
  readonly id: string;
  /** An error counts as a failure, whatever the guardrail says. */
  readonly failsOnError: boolean;
  /** Judges requests of every kind, not only those that hold a text. */
  readonly isForAll: boolean;
  readonly judge: Judge;
}

export interface Feedback {
  readonly value: number;
  readonly weight: number;
  readonly metadata: string;
}

export interface Guardrail {
  readonly id: string;
  readonly checks: readonly Check[];
  /** A failure refuses the request; never where nobody waits for it. */
  readonly denies: boolean;
  readonly isAsync: boolean;
  /** One check after the other, each with what the one before made of the text. */
  readonly isSequential: boolean;
  /** A check that could not judge counts as failed. */
  readonly failsClosed: boolean;
  /** All messages of a request are judged, not the last one only. */
  readonly scansAll: boolean;
  readonly feedback: { readonly success: Feedback; readonly failure: Feedback };
}

export interface CheckTools {
  readonly searches: Searches;
  readonly outbound: Outbound;
}

/** Those that change what they judge, so that others have to wait for them. */
const transforming = new Set(['default.regexreplace', 'default.webhook', 'default.addprefix']);

export function readyGuardrail(
  { id, checks, actions }: GuardrailDefinition,
  tools: CheckTools,
): Guardrail {
  const enabled = checks.filter(({ is_enabled: isEnabled }) => isEnabled !== false);
  const isAsync = actions.async === true;
  return {
    id,
    isAsync,
    checks: enabled.map((check) => readyCheck(check, tools)),
    denies: actions.deny === true && !isAsync,
    isSequential:
      actions.sequential === true || enabled.some((one) => transforming.has(one.id.toLowerCase())),
    failsClosed: actions.fail_closed === true,
    scansAll: actions.scan_scope === 'all_messages',
    feedback: {
      success: feedbackOf(actions.on_success, 5),
      failure: feedbackOf(actions.on_fail, -5),
    },
  };
}

/** Written into a config as a hook, with `checks`, or as checks by their ids; `name` where it has no id. */
export function writtenOut(
  item: Readonly<Record<string, unknown>>,
  name: string,
): GuardrailDefinition {
  const id = typeof item.id === 'string' ? item.id : name;
  const checks = Array.isArray(item.checks)
    ? (item.checks as GuardrailDefinition['checks'])
    : inlineChecks(item);
  return { id, checks, actions: item as GuardrailActions };
}

function readyCheck(check: GuardrailDefinition['checks'][number], tools: CheckTools): Check {
  const { id, parameters = {} } = check;
  const name = id.toLowerCase();
  // Who cannot be known is nobody.
  const failsOnError = parameters.failOnError === true || name === 'default.jwt';
  const isForAll = name === 'default.allowedrequesttypes' || parameters.executeOnProxy === true;
  return { id, failsOnError, isForAll, judge: judgeOf(name, parameters, tools) };
}

/** Parameters may be left out as a whole, and come from rows of other versions. */
function judgeOf(
  name: string,
  parameters: Readonly<Record<string, unknown>>,
  { searches, outbound }: CheckTools,
): Judge {
  try {
    return (
      countingChecks[name]?.(parameters) ??
      requestChecks[name]?.(parameters, searches) ??
      textChecks[name]?.(parameters, searches) ??
      outboundChecks[name]?.(parameters, outbound) ??
      (name === 'default.jwt' ? tokenCheck(parameters, searches, outbound) : notHere)
    );
  } catch {
    return incomplete;
  }
}

const incomplete: Judge = () => {
  throw new CheckError('its parameters cannot be used');
};

/** What others judge by models or accounts of their own. */
const notHere: Judge = () => {
  throw new CheckError('this gateway does not run this check');
};

function feedbackOf(consequence: GuardrailActions['on_fail'], usualValue: number): Feedback {
  const { value = usualValue, weight = 1, metadata = '' } = consequence?.feedback ?? {};
  return { value, weight, metadata };
}
