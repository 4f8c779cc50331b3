/** Applies parameters of a config that have the names of chats to requests whose form nests them in an object. */
import { isObject } from '../json/read-object.ts';
import { conversePath } from '../services/bedrock-models.ts';
import type { TargetSettings } from './config-tree.ts';

type Params = Readonly<Record<string, unknown>>;
type ParamSettings = Pick<TargetSettings, 'defaultParams' | 'overrideParams' | 'dropParams'>;

/** A form of requests with parameters in an object of their own. */
interface NestedForm {
  /** The member that contains the parameters. */
  readonly member: string;
  /** Its members, by the names of chats. */
  readonly names: ReadonlyMap<string, string>;
}

const gemini: NestedForm = {
  member: 'generationConfig',
  names: new Map([
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
  ]),
};
const interactions: NestedForm = {
  member: 'generation_config',
  names: new Map([
    ['temperature', 'temperature'],
    ['top_p', 'top_p'],
    ['max_tokens', 'max_output_tokens'],
    ['max_completion_tokens', 'max_output_tokens'],
    ['stop', 'stop_sequences'],
    ['seed', 'seed'],
  ]),
};
const converse: NestedForm = {
  member: 'inferenceConfig',
  names: new Map([
    ['temperature', 'temperature'],
    ['top_p', 'topP'],
    ['max_tokens', 'maxTokens'],
    ['max_completion_tokens', 'maxTokens'],
    ['stop', 'stopSequences'],
  ]),
};

/** Null for a request whose parameters are top-level members; `path` is canonical. */
function nestedFormOf(path: string): NestedForm | null {
  if (path === conversePath) return converse;
  if (path === '/v1beta/interactions') return interactions;
  return path.startsWith('/v1beta/') ? gemini : null;
}

/** Returns the settings as they are for a request whose parameters are top-level members. */
export function nestedParamSettings(
  settings: ParamSettings,
  params: Params,
  path: string,
): ParamSettings {
  const form = nestedFormOf(path);
  if (form === null) return settings;
  const { defaultParams, overrideParams, dropParams } = settings;
  const { member, names } = form;
  const { [member]: sent = {} } = params;
  if (!isObject(sent)) return settings;
  const [defaults, overrides] = [divided(defaultParams, names), divided(overrideParams, names)];
  const drops = dropParams?.map((name) => {
    const nested = names.get(name);
    return nested === undefined ? name : `${member}.${nested}`;
  });
  const isMoved = defaults.moved !== null || overrides.moved !== null;
  // Requests that count or embed have no such settings.
  const isGenerated = form === converse || path.endsWith('enerateContent');
  const set = overrideParams?.[member];
  const merged = {
    ...defaults.moved,
    ...sent,
    ...(isObject(set) ? set : {}),
    ...overrides.moved,
  };
  return {
    defaultParams: defaults.others,
    overrideParams:
      isMoved && isGenerated ? { ...overrides.others, [member]: merged } : overrides.others,
    dropParams: drops ?? null,
  };
}

/** Separates the parameters with names of chats, under their nested names; null for none. */
function divided(
  params: Params | null,
  names: NestedForm['names'],
): { moved: Params | null; others: Params | null } {
  if (params === null) return { moved: null, others: null };
  const entries = Object.entries(params);
  const moved = entries.flatMap(([name, value]) => {
    const member = names.get(name);
    if (member === undefined) return [];
    return [[member, member === 'stopSequences' ? [value].flat() : value] as const];
  });
  if (moved.length === 0) return { moved: null, others: params };
  const others = entries.filter(([name]) => !names.has(name));
  return { moved: Object.fromEntries(moved), others: Object.fromEntries(others) };
}
