/** Compares model names as lenient providers do, and finds every model that a body names. */
import type { Slices } from '../../slices.ts';
import { foldedName, isFreeMember } from '../json/member-name.ts';

/** A model that a request names. */
export interface NamedModel {
  readonly name: string;
  /** Whether the model behind the name is unknown: an agent, a router, or a name that providers may read differently. */
  readonly isOpaque: boolean;
  /** Whether the name may also be that of something else, so that only disabled models are looked for. */
  readonly isMention: boolean;
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
  /** `gpt-4o` and `free` in `openai/gpt-4o:free`: a provider may take any of them for the model. */
  readonly bases: readonly ModelBase[];
}

interface ModelBase {
  readonly name: string;
  /** The name without a date and without `latest`. */
  readonly family: string;
}

/** Dates of snapshots: `-2024-08-06`, `-20240806`, `-0613`, with a revision as in `-v1`. */
const snapshot = /(?:-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{2}-\d{4}))?(?:-v\d+)?$/;

function partsOf(model: string): ModelParts {
  const words = plainModelName(model)
    .replace(/^ft:|(?<!^)@[^/]*\/.*$/g, '')
    .split('/')
    .filter((word) => !pathWords.has(word));
  const bases = (words.at(-1) ?? '').split(/[:@]/).filter((part) => part !== '');
  return { publisher: words.at(-2) ?? null, bases: bases.map(baseOf) };
}

/** Regions and publishers precede models of Bedrock: `us.anthropic.claude-3-5-haiku`. */
function baseOf(part: string): ModelBase {
  const name = part
    .replace(/^(?:us|eu|apac|jp|au|global)\./, '')
    .replace(/^[a-z]+\d*\.(?=[a-z])/, '')
    .replaceAll(/[._\s-]+/g, '-');
  return { name, family: name.replace(/-latest$/, '').replace(snapshot, '') };
}

/** Words of a path before a model, as in `publishers/google/models/gemini`. */
const pathWords = new Set(['publishers', 'accounts', 'models', '', '.', '..']);

/**
 * Whether a request for `name` may be served by the model `rule`: the same name in another spelling, or a dated
 * snapshot of it.
 */
export function isSameModel(rule: string, name: string): boolean {
  const [one, other] = [partsOf(rule), partsOf(name)];
  const isOtherPublisher =
    one.publisher !== null && other.publisher !== null && one.publisher !== other.publisher;
  if (isOtherPublisher) return false;
  const [ruled] = one.bases;
  return ruled !== undefined && other.bases.some((base) => isSameBase(ruled, base));
}

function isSameBase(ruled: ModelBase, named: ModelBase): boolean {
  if (ruled.name === named.name) return true;
  const isAlias = ruled.name === ruled.family || ruled.name.endsWith('-latest');
  return isAlias && ruled.family === named.family;
}

/** Names of members that select a model, as {@link lettersOf} reads them: `model`, `fallback_models`, `modelId`. */
const modelMember =
  /models?_?(?:id|name|slug|arn)?s?$|^(?:engine|deployment)_?(?:id|name)?$|^fallbacks$/;
/** Members that select what the provider stores together with its model: an agent, a preset. */
const storedChoice = /^(?:agent(?:_?id)?|preset)$/;
/**
 * Names with which the provider chooses the model: `openrouter/auto`, `model-router`, `@preset/mine`, an ARN, an
 * endpoint of Vertex AI.
 */
const chosenByProvider =
  /(?:^|[/-])(?:auto|router)$|^openrouter\/|@preset\/|^arn:|(?:^|\/)endpoints\//;
/** Characters of names that all providers read alike. */
const unmistakable = /^[\w.:/@+~ -]+$/;

/** Values and names between two interruptions. */
const visitsOfSlice = 256;

/**
 * Returns the models that members of a body name at any depth, once each, except in messages and free objects; at most
 * `most` of them. Bodies are bounded in depth before they are parsed.
 */
export function* findModels(params: Members, most: number): Slices<NamedModel[]> {
  const found = new Map<string, NamedModel>();
  const open: object[] = [params];
  let visited = 0;
  for (;;) {
    const value = open.pop();
    if (value === undefined) return [...found.values()];
    for (const [name, member] of Object.entries(value)) {
      visited += 1;
      if (visited % visitsOfSlice === 0) yield;
      if (!Array.isArray(value)) {
        if (name === 'messages' || isFreeMember(value, name)) continue;
        for (const one of modelsIn(lettersOf(name), member)) {
          visited += 1;
          if (visited % visitsOfSlice === 0) yield;
          found.set(`${one.isOpaque} ${one.isMention} ${one.name}`, one);
          if (found.size === most) return [...found.values()];
        }
      }
      if (typeof member === 'object' && member !== null) open.push(member);
    }
  }
}

/** The models that one member names, if its name says that it selects any. */
function* modelsIn(letters: string, member: unknown): Generator<NamedModel, void, void> {
  if (letters === 'plugins') {
    for (const text of textsOf(member)) yield mentionedModel(text);
    return;
  }
  const isStored = storedChoice.test(letters);
  if (!isStored && !modelMember.test(letters)) return;
  for (const text of textsOf(member)) yield namedModel(text, isStored);
}

/** A plain name, or the letters and digits of another one in lower case. */
function lettersOf(name: string): string {
  return /^[a-z\d_]*$/.test(name) ? name : foldedName(name).replaceAll(/[^a-z\d]+/g, '');
}

export function namedModel(name: string, isStored = false): NamedModel {
  const plain = plainModelName(name);
  const isOpaque = isStored || !unmistakable.test(plain) || chosenByProvider.test(plain);
  // `@mine/gpt-4o` names a provider of the workspace before the model.
  return { name: name.replace(/^@(?!preset\/)[^/]*\//, ''), isOpaque, isMention: false };
}

/** Plugins of OpenRouter have members of their own for models, beside other settings; some choose the models. */
function mentionedModel(text: string): NamedModel {
  const isRouter = /(?:^|[-_])(?:fusion|router)$/i.test(text.trim());
  return { name: text, isOpaque: isRouter, isMention: true };
}

/** Every text of a name, a list of names, or an object that names some, at any depth. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}
