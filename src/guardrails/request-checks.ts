/** Implements the checks of a request's model, type and metadata. */
import { CheckError, type CheckRunner, makeOutcome } from './check.ts';
import type { Searches } from './searches.ts';

type Parameters = Readonly<Record<string, unknown>>;
type CheckFactory = (parameters: Parameters, searches: Searches) => CheckRunner;
type Quantifier = (holds: readonly boolean[]) => boolean;

const quantifiers: Readonly<Record<string, Quantifier>> = {
  any: (holds) => holds.some(Boolean),
  all: (holds) => holds.every(Boolean),
  none: (holds) => !holds.some(Boolean),
};

/** Whether any, all or none of the conditions hold; `fallback` is the default operator. */
export function quantify(operator: unknown, fallback: string, holds: readonly boolean[]): boolean {
  return quantifiers[String(operator ?? fallback)]!(holds);
}

const modelWhitelist: CheckFactory =
  ({ models, not }) =>
  ({ model, provider }) => {
    const listed = models as readonly string[];
    const names = [model, `${provider}/${model}`, `@${provider.replace(/^@/, '')}/${model}`];
    return makeOutcome(
      model !== null && names.some((name) => listed.includes(name!)),
      not,
      'checks whether the model is listed',
    );
  };

/** Lists of models; those for the caller's metadata take precedence over the defaults. */
const modelRules: CheckFactory = ({ rules, not }) => {
  const { defaults = [], metadata = {} } = (rules ?? {}) as {
    readonly defaults?: readonly string[];
    readonly metadata?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  };
  return ({ model, metadata: values }) => {
    const matched = Object.entries(metadata).flatMap(([key, byValue]) => {
      const value = String(values[key]);
      return Object.hasOwn(byValue, value) ? [byValue[value]!] : [];
    });
    const allowed = matched.length > 0 ? matched.flat() : defaults;
    const isAllowed = allowed.includes('*') || (model !== null && allowed.includes(model));
    return makeOutcome(isAllowed, not, 'checks whether the metadata allow the model');
  };
};

/** Names of request types in other gateways, by endpoint. */
const requestTypes: Readonly<Record<string, readonly string[]>> = {
  chat_completions: ['chatComplete'],
  completions: ['complete'],
  embeddings: ['embed'],
  messages: ['messages'],
  count_tokens: ['messagesCountTokens'],
  responses: ['createModelResponse'],
  moderations: ['moderate'],
  image_generations: ['imageGenerate'],
  audio_speech: ['createSpeech'],
  audio_transcriptions: ['createTranscription'],
  files: ['uploadFile', 'listFiles'],
  batches: ['createBatch', 'listBatches'],
  models: ['getModels'],
  other: ['proxy'],
};

const allowedRequestTypes: CheckFactory = ({ allowedTypes, blockedTypes }) => {
  const lists = { allowed: namesOf(allowedTypes), blocked: namesOf(blockedTypes) };
  return ({ endpoint, metadata }) => {
    const allowed = lists.allowed ?? namesOf(metadata.supported_endpoints) ?? [];
    const blocked = lists.blocked ?? namesOf(metadata.blocked_endpoints) ?? [];
    if (allowed.some((type) => blocked.includes(type))) {
      throw new CheckError('a request type is both allowed and blocked');
    }
    const names = [endpoint, ...(requestTypes[endpoint] ?? [])];
    const isIn = (list: readonly string[]) => names.some((name) => list.includes(name));
    const passes = !isIn(blocked) && (allowed.length === 0 || isIn(allowed));
    return { passes, explanation: `requests of ${endpoint} are ${passes ? '' : 'not '}allowed` };
  };
};

/** Lists in metadata are comma-separated texts. */
function namesOf(value: unknown): readonly string[] | null {
  if (typeof value === 'string') return value.split(',').map((name) => name.trim());
  return Array.isArray(value) && value.length > 0 ? (value as string[]) : null;
}

const requiredMetadataKeys: CheckFactory =
  ({ metadataKeys, operator, not }) =>
  ({ metadata }) => {
    const has = (metadataKeys as string[]).map((key) => Object.hasOwn(metadata, key));
    const holds = quantify(operator, 'all', has);
    return makeOutcome(
      holds,
      not,
      `${has.filter(Boolean).length} of ${has.length} keys are present`,
    );
  };

const requiredMetadataPairs: CheckFactory = (parameters, searches) => {
  const { metadataPairs, operator, matchType = 'exact', not } = parameters;
  const pairs = Object.entries(metadataPairs as Parameters);
  return async ({ metadata }) => {
    const has = await Promise.all(
      pairs.map(([key, expected]) => matchesValue(metadata[key], expected, matchType, searches)),
    );
    const holds = quantify(operator, 'all', has);
    return makeOutcome(holds, not, `${has.filter(Boolean).length} of ${has.length} pairs match`);
  };
};

/** Compares a value with one or several expected values: `exact`, `contains`, `containsAll` or `regex`. */
export async function matchesValue(
  value: unknown,
  expected: unknown,
  matchType: unknown,
  searches: Searches,
): Promise<boolean> {
  if (value === undefined || value === null) return false;
  const all = [expected].flat().map(String);
  const texts = [value].flat().map(String);
  switch (matchType) {
    case 'contains':
      return all.some((part) => texts.some((text) => text.includes(part)));
    case 'containsAll':
      return all.every((part) => texts.some((text) => text.includes(part)));
    case 'regex': {
      const matches = all.map((pattern) => searches.find(pattern, '', texts.join('\n')));
      return (await Promise.all(matches)).some(Boolean);
    }
    default:
      return all.some((item) => texts.includes(item));
  }
}

export const requestChecks: Readonly<Record<string, CheckFactory>> = {
  'default.modelwhitelist': modelWhitelist,
  'default.modelrules': modelRules,
  'default.allowedrequesttypes': allowedRequestTypes,
  'default.requiredmetadatakeys': requiredMetadataKeys,
  'default.requiredmetadatakeyvaluepairs': requiredMetadataPairs,
};
