/** Applies parameters of a config that have the names of chats to requests in Gemini's form. */
import { isObject } from '../json/read-object.ts';
import type { TargetSettings } from './config-tree.ts';

type Params = Readonly<Record<string, unknown>>;
type ParamSettings = Pick<TargetSettings, 'defaultParams' | 'overrideParams' | 'dropParams'>;

/** Members of `generationConfig`, by the names of chats. */
const configMembers = new Map([
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['max_tokens', 'maxOutputTokens'],
  ['max_completion_tokens', 'maxOutputTokens'],
  ['n', 'candidateCount'],
  ['stop', 'stopSequences'],
  ['seed', 'seed'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
]);

export function isGeminiPath(path: string): boolean {
  return path.startsWith('/v1beta/');
}

/** The settings for a request in Gemini's form; `path` below the prefix of the gateway. */
export function geminiParamSettings(
  settings: ParamSettings,
  params: Params,
  path: string,
): ParamSettings {
  const { defaultParams, overrideParams, dropParams } = settings;
  const { generationConfig: sent = {} } = params;
  if (!isObject(sent)) return settings;
  const [defaults, overrides] = [divided(defaultParams), divided(overrideParams)];
  const drops = dropParams?.map((name) => {
    const member = configMembers.get(name);
    return member === undefined ? name : `generationConfig.${member}`;
  });
  const isMoved = defaults.moved !== null || overrides.moved !== null;
  // Requests that count or embed have no such settings.
  const isGenerated = path.endsWith('enerateContent');
  const set = overrideParams?.generationConfig;
  const merged = {
    ...defaults.moved,
    ...sent,
    ...(isObject(set) ? set : {}),
    ...overrides.moved,
  };
  return {
    defaultParams: defaults.others,
    overrideParams:
      isMoved && isGenerated ? { ...overrides.others, generationConfig: merged } : overrides.others,
    dropParams: drops ?? null,
  };
}

/** Separates the parameters with names of chats, under their names in `generationConfig`; null for none. */
function divided(params: Params | null): { moved: Params | null; others: Params | null } {
  if (params === null) return { moved: null, others: null };
  const entries = Object.entries(params);
  const moved = entries.flatMap(([name, value]) => {
    const member = configMembers.get(name);
    if (member === undefined) return [];
    return [[member, member === 'stopSequences' ? [value].flat() : value] as const];
  });
  if (moved.length === 0) return { moved: null, others: params };
  const others = entries.filter(([name]) => !configMembers.has(name));
  return { moved: Object.fromEntries(moved), others: Object.fromEntries(others) };
}
