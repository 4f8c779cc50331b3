/** Knows the checks that judge what a request says of itself: its model, its kind, its metadata. */
import { CheckError, type Judge, saying } from './check.ts';
import type { Searches } from './searches.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Maker = (parameters: Parameters, searches: Searches) => Judge;
type Quantifier = (holds: readonly boolean[]) => boolean;

const quantifiers: Readonly<Record<string, Quantifier>> = {
  any: (holds) => holds.some(Boolean),
  all: (holds) => holds.every(Boolean),
  none: (holds) => !holds.some(Boolean),
};

/** Whether any, all or none of them hold; `usual` where nothing is said. */
export function quantified(operator: unknown, usual: string, holds: readonly boolean[]): boolean {
  return quantifiers[String(operator ?? usual)]!(holds);
}

const modelWhitelist: Maker =
  ({ models, not }) =>
  ({ model, provider }) => {
    const listed = models as readonly string[];
    const names = [model, `${provider}/${model}`, `@${provider.replace(/^@/, '')}/${model}`];
    return saying(
      model !== null && names.some((name) => listed.includes(name!)),
      not,
      'whether the model is listed',
    );
  };

/** Lists of models, those of a caller's metadata before those for all. */
const modelRules: Maker = ({ rules, not }) => {
  const { defaults = [], metadata = {} } = (rules ?? {}) as {
    readonly defaults?: readonly string[];
    readonly metadata?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  };
  return ({ model, metadata: given }) => {
    const matched = Object.entries(metadata).flatMap(([key, byValue]) => {
      const value = String(given[key]);
      return Object.hasOwn(byValue, value) ? [byValue[value]!] : [];
    });
    const allowed = matched.length > 0 ? matched.flat() : defaults;
    const isAllowed = allowed.includes('*') || (model !== null && allowed.includes(model));
    return saying(isAllowed, not, 'whether the model is allowed for these metadata');
  };
};

/** Names of other gateways for kinds of requests, by ours. */
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

const allowedRequestTypes: Maker = ({ allowedTypes, blockedTypes }) => {
  const lists = { allowed: namesOf(allowedTypes), blocked: namesOf(blockedTypes) };
  return ({ endpoint, metadata }) => {
    const allowed = lists.allowed ?? namesOf(metadata.supported_endpoints) ?? [];
    const blocked = lists.blocked ?? namesOf(metadata.blocked_endpoints) ?? [];
    if (allowed.some((type) => blocked.includes(type))) {
      throw new CheckError('a type of request is both allowed and blocked');
    }
    const names = [endpoint, ...(requestTypes[endpoint] ?? [])];
    const isIn = (list: readonly string[]) => names.some((name) => list.includes(name));
    const passes = !isIn(blocked) && (allowed.length === 0 || isIn(allowed));
    return { passes, explanation: `requests of ${endpoint} are ${passes ? '' : 'not '}allowed` };
  };
};

/** In metadata a list is a text with commas. */
function namesOf(value: unknown): readonly string[] | null {
  if (typeof value === 'string') return value.split(',').map((name) => name.trim());
  return Array.isArray(value) && value.length > 0 ? (value as string[]) : null;
}

const requiredMetadataKeys: Maker =
  ({ metadataKeys, operator, not }) =>
  ({ metadata }) => {
    const has = (metadataKeys as string[]).map((key) => Object.hasOwn(metadata, key));
    const holds = quantified(operator, 'all', has);
    return saying(holds, not, `${has.filter(Boolean).length} of ${has.length} keys are there`);
  };

const requiredMetadataPairs: Maker = (parameters, searches) => {
  const { metadataPairs, operator, matchType = 'exact', not } = parameters;
  const pairs = Object.entries(metadataPairs as Parameters);
  return async ({ metadata }) => {
    const has = await Promise.all(
      pairs.map(([key, wanted]) => matchesValue(metadata[key], wanted, matchType, searches)),
    );
    const holds = quantified(operator, 'all', has);
    return saying(holds, not, `${has.filter(Boolean).length} of ${has.length} pairs match`);
  };
};

/** How a value is compared with one that is wanted, or with several: `exact`, `contains`, `containsAll`, `regex`. */
export async function matchesValue(
  value: unknown,
  wanted: unknown,
  matchType: unknown,
  searches: Searches,
): Promise<boolean> {
  if (value === undefined || value === null) return false;
  const all = [wanted].flat().map(String);
  const texts = [value].flat().map(String);
  switch (matchType) {
    case 'contains':
      return all.some((one) => texts.some((text) => text.includes(one)));
    case 'containsAll':
      return all.every((one) => texts.some((text) => text.includes(one)));
    case 'regex': {
      const found = all.map((pattern) => searches.find(pattern, '', texts.join('\n')));
      return (await Promise.all(found)).some(Boolean);
    }
    default:
      return all.some((one) => texts.includes(one));
  }
}

export const requestChecks: Readonly<Record<string, Maker>> = {
  'default.modelwhitelist': modelWhitelist,
  'default.modelrules': modelRules,
  'default.allowedrequesttypes': allowedRequestTypes,
  'default.requiredmetadatakeys': requiredMetadataKeys,
  'default.requiredmetadatakeyvaluepairs': requiredMetadataPairs,
};
