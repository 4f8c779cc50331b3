/** Finds the guardrails that a config names by slug or id, in its lists of guardrails and of hooks. */
import { inlineChecks } from '../guardrails/inline-guardrail.ts';
import { type Fault, faultAt } from '../wire/fault.ts';
import { configLevels } from './config-levels.ts';
import { checkFields } from './config-secret-fields.ts';

/** An entry of a list of guardrails: a name, or an object with checks of its own or with the name as `id`. */
type GuardrailEntry = string | Readonly<Record<string, unknown>>;

/** A guardrail that a document names, and the path of the name. */
export interface GuardrailReference {
  readonly path: readonly (string | number)[];
  readonly guardrail: string;
}

/** Returns the guardrail that an entry names; null for one that has checks of its own. */
export function namedGuardrail(entry: GuardrailEntry): string | null {
  if (typeof entry === 'string') return entry;
  return hasChecks(entry) || typeof entry.id !== 'string' ? null : entry.id;
}

/** Whether an entry judges nothing: it has no checks, and names no guardrail. */
export function isEmptyGuardrail(entry: GuardrailEntry): boolean {
  return namedGuardrail(entry) === null && !(typeof entry === 'object' && hasChecks(entry));
}

function hasChecks(entry: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(entry.checks) ? entry.checks.length > 0 : inlineChecks(entry).length > 0;
}

/** Returns every guardrail that a document names, at all levels. */
export function guardrailReferences(document: unknown): GuardrailReference[] {
  return guardrailEntries(document).flatMap(({ path, entry }) => {
    const guardrail = namedGuardrail(entry);
    if (guardrail === null) return [];
    return [{ path: typeof entry === 'string' ? path : [...path, 'id'], guardrail }];
  });
}

/** Returns the paths of the entries that judge nothing, at all levels. */
export function emptyGuardrails(document: unknown): GuardrailReference['path'][] {
  const empty = guardrailEntries(document).filter(({ entry }) => isEmptyGuardrail(entry));
  return empty.map(({ path }) => path);
}

function guardrailEntries(document: unknown) {
  return [...configLevels(document)].flatMap(({ level, path }) =>
    checkFields.flatMap((field) => {
      const list = (level as Record<string, unknown> | null)?.[field];
      if (!Array.isArray(list)) return [];
      return list
        .map((entry: unknown, at) => ({ entry, path: [...path, field, at] }))
        .filter((one): one is typeof one & { entry: GuardrailEntry } => isEntry(one.entry));
    }),
  );
}

function isEntry(entry: unknown): entry is GuardrailEntry {
  return typeof entry === 'string' || (typeof entry === 'object' && entry !== null);
}

/** Members that may stand beside the name of a stored guardrail. */
const namingMembers: ReadonlySet<string> = new Set(['id', 'name', 'type', 'checks', 'extensions']);

/** Returns why an entry without checks of its own is not usable; paths start at it. */
export function emptyGuardrailFaults(entry: Readonly<Record<string, unknown>>): Fault[] {
  if (hasChecks(entry)) return [];
  if (isEmptyGuardrail(entry)) {
    const message = 'has no checks; add some, or set id to the slug of a guardrail';
    return [{ path: [], message }];
  }
  const message = 'has no effect, because the guardrail that id names has actions of its own';
  return Object.keys(entry)
    .filter((member) => !namingMembers.has(member))
    .flatMap((member) => faultAt(member, message));
}
