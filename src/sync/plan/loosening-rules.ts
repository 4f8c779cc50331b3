/** Defines the rules that decide whether the change of one value loosens access. */
import { checkFields } from '../../model/configs/config-secret-fields.ts';
import { effectiveSettings } from '../../model/workspaces/security-settings.ts';
import type { SpecJson } from '../resources/resource-set.ts';
import { valueAt } from '../resources/spec-paths.ts';

export type JudgedValue = SpecJson | undefined;

/** The path of a value, and the previous entry of the list that contains it. */
export interface JudgedPath {
  readonly segments: readonly string[];
  readonly entry: unknown;
}

/** Returns whether the change loosens access; undefined means not set. */
export type Judge = (from: JudgedValue, to: JudgedValue, spot: JudgedPath) => boolean;

export const isUnset = (value: JudgedValue): boolean => value === undefined || value === null;
/** Raised or removed. */
export const ceiling: Judge = (from, to) =>
  !isUnset(from) && (isUnset(to) || !(Number(to) <= Number(from)));
/** Lowered or removed. */
const floor: Judge = (from, to) => !isUnset(from) && (isUnset(to) || !(Number(to) >= Number(from)));
/** Later or removed. */
export const deadline: Judge = (from, to) =>
  !isUnset(from) && (isUnset(to) || !(momentOf(to) <= momentOf(from)));
/** Added or changed: every value grants something. */
export const gives: Judge = (_, to) => !isUnset(to);
/** Removed or changed: every value restricts something. */
export const guards: Judge = (from) => !isUnset(from);
/** A change that cannot be judged counts as loosening. */
export const unknown: Judge = () => true;

export function noLonger(value: SpecJson): Judge {
  return (from) => from === value;
}

/** Now allowed, or no longer forbidden. */
export const opens: Judge = (from, to) =>
  to === true ? from !== true : from === false && to !== false;

/** Added to a list with other entries: the first entry of a list restricts, further ones do not. */
export const joins: Judge = (_, to, { entry }) =>
  !isUnset(to) && typeof entry === 'object' && entry !== null && Object.keys(entry).length > 0;

/** In order of strictness; an absent policy is the first. */
const definitionPolicies = ['observe', 'hide', 'block'];
export const laxerPolicy: Judge = (from, to) =>
  definitionPolicies.indexOf(String(to)) < definitionPolicies.indexOf(String(from)) &&
  from !== 'observe';

/** Switched on. */
export const turnsOn: Judge = (from, to) => to === true && from !== true;

/** Rights of workspace members to see and change things; an absent setting means the default. */
export const shows: Judge = (from, to, { segments }) => {
  const name = segments.at(-1) as keyof ReturnType<typeof effectiveSettings>;
  const holds = (value: JudgedValue): boolean =>
    typeof value === 'boolean' ? value : effectiveSettings(null)[name];
  return holds(to) && !holds(from);
};

/** Counted at a lower factor, so that a budget lasts longer; no factor means 1. */
export const cheaperFactor: Judge = (from, to) => !(Number(to ?? 1) >= Number(from ?? 1));

/** Any price that is not higher; the default price is unknown here. */
export const cheaperPrice: Judge = (from, to) => !(Number(to) >= Number(from));

export function becomes(value: SpecJson): Judge {
  return (_, to) => to === value;
}

export function momentOf(value: JudgedValue): number {
  return Date.parse(String(value));
}

const listedWords: Readonly<Record<string, Judge>> = { none: guards, all: guards, any: gives };

/** By parameter name of a check; the meaning of a word list depends on its operator. */
const parameterRules: Readonly<Record<string, Judge>> = {
  blockedTypes: guards,
  categories: guards,
  allowedTypes: (from, to, { segments }) => segments.length === 4 || gives(from, to, noSpot),
  models: gives,
  algorithms: gives,
  metadataKeys: guards,
};

const noSpot: JudgedPath = { segments: [], entry: null };

export const checkParameter: Judge = (from, to, spot) => {
  const { entry, segments } = spot;
  const given = valueAt(entry, ['parameters']) as Readonly<Record<string, unknown>> | undefined;
  const name = segments[3] ?? '';
  // An inverted check passes what it rejected before.
  if (given?.not === true) return true;
  if (/^max[A-Z]/.test(name)) return ceiling(from, to, spot);
  if (/^min[A-Z]/.test(name)) return floor(from, to, spot);
  const byOperator = name === 'words' || name === 'keys' || given?.operator !== undefined;
  const rule = byOperator ? listedWords[String(given?.operator)] : parameterRules[name];
  return (rule ?? unknown)(from, to, spot);
};

/** A policy matches fewer requests with an additional or different condition. */
export const condition: Judge = (from, to, { segments }) =>
  segments.length > 2 || (isUnset(from) && !isUnset(to));

/** Rules that judge the change of a value as a whole, not each value in it. */
export const ofWholes: readonly Judge[] = [unknown, checkParameter, condition];

/** Rules that also apply to each value of an addition; others need the previous value. */
export const ofAdditions: readonly Judge[] = [
  gives,
  opens,
  shows,
  turnsOn,
  cheaperFactor,
  cheaperPrice,
];

const guardrailLists: ReadonlySet<string> = new Set(checkFields);

/** Checks inside a config: any difference in an existing check. */
export const inlineGuard: Judge = (from, _, { segments }) => {
  const list = segments.findLastIndex((key) => guardrailLists.has(key));
  return !isUnset(from) || segments.length > list + 2;
};

/** Consequences of a guardrail. */
export const guardrailActionRules = {
  'actions.deny': noLonger(true),
  'actions.async': becomes(true),
  'actions.mode': becomes('monitor'),
  'actions.on_unsupported': becomes('pass'),
  'actions.fail_closed': noLonger(true),
} satisfies Record<string, Judge>;

/** Guardrails of every request and every call of an MCP tool. */
export const defaultGuardrailRules = {
  'input_guardrails.*': guards,
  'output_guardrails.*': guards,
  'mcp_input_guardrails.*': guards,
  'mcp_output_guardrails.*': guards,
} satisfies Record<string, Judge>;

/** Rules for tokens may only be added as a whole: any other change may admit further tokens. */
const tokenRule: Judge = (from, _, { segments }) => !isUnset(from) || segments.length > 2;

/** Headers and facts of callers that an MCP server receives. */
export const relayedCallerRules = {
  'configurations.passthrough_header.*': gives,
  'configurations.passthrough_headers.*': gives,
  'configurations.forward_headers.*': gives,
  'configurations.forward_headers.mode': becomes('all-except'),
  // An exception forwards more when it goes, a listed name when it comes.
  'configurations.forward_headers.headers.*': unknown,
  'configurations.forward_headers.headers.*.from': unknown,
  'configurations.forward_headers.headers.*.to': unknown,
  'configurations.user_identity_forwarding.method': gives,
  'configurations.user_identity_forwarding.include_claims.*': gives,
  'configurations.jwt_validation.**': tokenRule,
  'configurations.external_auth_config.**': tokenRule,
} satisfies Record<string, Judge>;
