/** Compares model names as lenient providers do, and finds every model that a body names. */
import { foldedName, freeMembers } from '../json/member-name.ts';

/** A model that a request names. */
export interface NamedModel {
  readonly name: string;
  /** Whether the name stands for a choice of the provider, such as an agent, whose model is unknown. */
  readonly isOpaque: boolean;
}

type Members = Readonly<Record<string, unknown>>;

/** The name without differences that every provider ignores: case, blanks around it, and `models/` before it. */
export function plainModelName(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/^models\//, '');
}

interface ModelParts {
  /** `openai` in `openai/gpt-4o`; null for none. */
  readonly publisher: string | null;
  readonly base: string;
  /** The base without a date and without `latest`. */
  readonly family: string;
}

/** Dates of snapshots: `-2024-08-06`, `-20240806`, `-0613`, with a revision as in `-v1`. */
const snapshot = /(?:-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{2}-\d{4}))?(?:-v\d+)?$/;

function partsOf(name: string): ModelParts {
  const plain = plainModelName(name)
    .replace(/^ft:/, '')
    .replace(/[:@].*$/, '');
  const words = plain.split('/').filter((word) => !pathWords.has(word));
  const base = (words.at(-1) ?? '')
    .replace(/^(?:us|eu|apac|global)\./, '')
    .replaceAll(/[._\s]+/g, '-');
  const family = base.replace(/-latest$/, '').replace(snapshot, '');
  return { publisher: words.at(-2) ?? null, base, family };
}

/** Words of a path before a model, as in `publishers/google/models/gemini`. */
const pathWords = new Set(['publishers', 'accounts', 'models', '']);

/**
 * Whether a request for `name` may be served by the model `rule`: the same name in another spelling, or a dated
 * snapshot of it.
 */
export function isSameModel(rule: string, name: string): boolean {
  const [one, other] = [partsOf(rule), partsOf(name)];
  const isOtherPublisher =
    one.publisher !== null && other.publisher !== null && one.publisher !== other.publisher;
  if (isOtherPublisher) return false;
  if (one.base === other.base) return true;
  const isAlias = one.base === one.family || one.base.endsWith('-latest');
  return isAlias && one.family === other.family;
}

/** Members in which nothing selects a model. */
const skippedMembers: ReadonlySet<string> = new Set([...freeMembers, 'messages']);

/** Names of members that select a model, folded. */
const modelMember = /(?:^|_)models?(?:_id|_name|_slug)?$|^(?:engine|deployment|fallbacks)$/;
const agentMember = /^agent(?:_id)?$/;
/** Names with which a router of the provider chooses the model. */
const routedModel = /(?:^|\/)(?:auto|router)$/;

/**
 * Returns the models that members of a body name at any depth, except in messages and free objects. Bodies are
 * bounded in depth before they are parsed.
 */
export function modelsNamedIn(params: Members): NamedModel[] {
  const named: NamedModel[] = [];
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value) look(item);
      return;
    }
    for (const name of Object.keys(value)) {
      if (skippedMembers.has(name)) continue;
      const folded = foldedName(name);
      const member = (value as Members)[name];
      const isAgent = agentMember.test(folded);
      if (isAgent || modelMember.test(folded)) {
        for (const text of textsOf(member)) named.push(namedModel(text, isAgent));
      }
      look(member);
    }
  };
  look(params);
  return named;
}

export function namedModel(name: string, isAgent = false): NamedModel {
  const bare = name.replace(/^@[^/]*\//, '');
  return { name: bare, isOpaque: isAgent || routedModel.test(plainModelName(bare)) };
}

/** A name, a list of names at any depth, or an object that names one. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(namesInList);
  return Object.values(value).filter((item): item is string => typeof item === 'string');
}

function namesInList(item: unknown): string[] {
  return typeof item === 'string' || Array.isArray(item) ? textsOf(item) : [];
}
