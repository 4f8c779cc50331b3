/** Knows how the change of one value is judged: whether it loosens access. */
import { effectiveSettings } from '../../model/workspaces/security-settings.ts';
import type { Json } from '../resources/resource-set.ts';
import { valueAt } from '../resources/spec-paths.ts';

export type Maybe = Json | undefined;

/** Where a judged value stands, and what the entry of a list around it was before. */
export interface Spot {
  readonly segments: readonly string[];
  readonly entry: unknown;
}

/** Whether a value that goes from one to the other loosens access; undefined is not set. */
export type Judge = (from: Maybe, to: Maybe, spot: Spot) => boolean;

export const isUnset = (value: Maybe): boolean => value === undefined || value === null;
/** Raised or removed. */
export const ceiling: Judge = (from, to) =>
  !isUnset(from) && (isUnset(to) || !(Number(to) <= Number(from)));
/** Lowered or removed. */
const floor: Judge = (from, to) => !isUnset(from) && (isUnset(to) || !(Number(to) >= Number(from)));
/** Later or removed. */
export const deadline: Judge = (from, to) =>
  !isUnset(from) && (isUnset(to) || !(momentOf(to) <= momentOf(from)));
/** Added or other than it was: each value gives something. */
export const gives: Judge = (_, to) => !isUnset(to);
/** Removed or other than it was: each value holds something back. */
export const guards: Judge = (from) => !isUnset(from);
/** What cannot be judged counts as loosening. */
export const unknown: Judge = () => true;

export function noLonger(value: Json): Judge {
  return (from) => from === value;
}

/** Let in, or no longer kept out. */
export const opens: Judge = (from, to) =>
  to === true ? from !== true : from === false && to !== false;

/** Beside others: the first of a list lets in fewer than no list does. */
export const joins: Judge = (_, to, { entry }) =>
  !isUnset(to) && typeof entry === 'object' && entry !== null && Object.keys(entry).length > 0;

/** On from now on. */
export const turnsOn: Judge = (from, to) => to === true && from !== true;

/** What people of a workspace see and write: a setting that says nothing means the usual. */
export const shows: Judge = (from, to, { segments }) => {
  const name = segments.at(-1) as keyof ReturnType<typeof effectiveSettings>;
  const holds = (value: Maybe): boolean =>
    typeof value === 'boolean' ? value : effectiveSettings(null)[name];
  return holds(to) && !holds(from);
};

/** Counted at less than before, so that a budget lasts longer; without a factor it is counted whole. */
export const cheaperFactor: Judge = (from, to) => !(Number(to ?? 1) >= Number(from ?? 1));

/** Another price, unless it is higher: what the usual one is nobody knows here. */
export const cheaperPrice: Judge = (from, to) => !(Number(to) >= Number(from));

export function becomes(value: Json): Judge {
  return (_, to) => to === value;
}

export function momentOf(value: Maybe): number {
  return Date.parse(String(value));
}

const listedWords: Readonly<Record<string, Judge>> = { none: guards, all: guards, any: gives };

/** By name of a parameter of a check; a list of words means what its operator says. */
const parameterRules: Readonly<Record<string, Judge>> = {
  blockedTypes: guards,
  categories: guards,
  allowedTypes: (from, to, { segments }) => segments.length === 4 || gives(from, to, noSpot),
  models: gives,
  algorithms: gives,
  metadataKeys: guards,
};

const noSpot: Spot = { segments: [], entry: null };

export const checkParameter: Judge = (from, to, spot) => {
  const { entry, segments } = spot;
  const given = valueAt(entry, ['parameters']) as Readonly<Record<string, unknown>> | undefined;
  const name = segments[3] ?? '';
  // Turned round, it passes what it refused.
  if (given?.not === true) return true;
  if (/^max[A-Z]/.test(name)) return ceiling(from, to, spot);
  if (/^min[A-Z]/.test(name)) return floor(from, to, spot);
  const byOperator = name === 'words' || name === 'keys' || given?.operator !== undefined;
  const rule = byOperator ? listedWords[String(given?.operator)] : parameterRules[name];
  return (rule ?? unknown)(from, to, spot);
};

/** Fewer requests are counted where there is one condition more, or where one is another. */
export const condition: Judge = (from, to, { segments }) =>
  segments.length > 2 || (isUnset(from) && !isUnset(to));

/** Judges that look at the change of a value as a whole, and not at each value in it. */
export const ofWholes: readonly Judge[] = [unknown, checkParameter, condition];

/** Judges that hold of each value of what is added, too; others look at what was there before. */
export const ofAdditions: readonly Judge[] = [
  ...[gives, opens, shows, turnsOn, cheaperFactor, cheaperPrice],
];

/** Checks written into a config: what is other than before in one that was there. */
export const inlineGuard: Judge = (from, _, { segments }) => {
  const list = segments.findLastIndex((key) => guardLists.includes(key));
  return !isUnset(from) || segments.length > list + 2;
};

export const guardLists = [
  ...['input_guardrails', 'output_guardrails', 'before_request_hooks', 'after_request_hooks'],
];
