/** Reads the target of a request in the form of Amazon Bedrock or Vertex AI, whose path contains model and action. */
import { conversePath } from '../services/bedrock-models.ts';
import {
  type CanonicalTarget,
  canonicalQuery,
  decodedSegments,
  segmentFault,
} from './canonical-target.ts';
import { bedrockPrefix } from './catalogue.ts';
import type { PathAction } from './path-action.ts';

export interface ActionTarget extends CanonicalTarget {
  readonly action: PathAction;
}

/** An action of a cloud: what a request becomes, and the name of the row in the catalogue. */
interface CloudAction extends Omit<PathAction, 'model' | 'isList'> {
  /** Canonical path. */
  readonly path: string;
}

const bedrockActions: Readonly<Record<string, CloudAction>> = {
  converse: { form: 'converse', isStream: false, path: conversePath },
  'converse-stream': { form: 'converse', isStream: true, path: conversePath },
  invoke: { form: 'invoke', isStream: false, path: '/messages' },
  'invoke-with-response-stream': { form: 'invoke', isStream: true, path: '/messages' },
  'count-tokens': { form: 'count-tokens', isStream: false, path: '/messages/count_tokens' },
};
const claudeActions: Readonly<Record<string, CloudAction>> = {
  rawPredict: { form: 'raw-predict', isStream: false, path: '/messages' },
  streamRawPredict: { form: 'raw-predict', isStream: true, path: '/messages' },
};
const countAction: CloudAction = {
  form: 'count-raw-predict',
  isStream: false,
  path: '/messages/count_tokens',
};

const bedrockPath = /^\/model\/(.+)\/([a-z-]+)$/;
/** A project and a location, which the account of the gateway replaces; clients with a key alone leave them out. */
const claudePath =
  /^\/v1(?:beta1)?\/(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/anthropic\/models\/(.+):([A-Za-z]+)$/;
const countModel = 'count-tokens';

/** Null for a request of another form. `path` is the whole path. */
export function cloudTarget(
  method: string | undefined,
  path: string,
  query: string,
): ActionTarget | { readonly fault: string } | null {
  if (method !== 'POST') return null;
  const isBedrock = path.startsWith(bedrockPrefix);
  if (!isBedrock && !path.includes('/publishers/anthropic/')) return null;
  const [, name, word = ''] = (isBedrock ? bedrockPath : claudePath).exec(path) ?? [];
  if (name === undefined) return null;
  const isCount = !isBedrock && name === countModel && word === 'rawPredict';
  const actions = isBedrock ? bedrockActions : claudeActions;
  const found = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (found === undefined) return null;
  const model = modelIn(name);
  if (typeof model !== 'string') return model;
  const { path: canonical, form, isStream } = isCount ? countAction : found;
  const action = { form, isStream, isList: false, model: isCount ? null : model };
  return { path: canonical, query: canonicalQuery(query), action };
}

/** The model that a part of a path names. */
export function modelIn(part: string): string | { readonly fault: string } {
  const segments = decodedSegments(`/${part}`);
  if (segments === null) return { fault: 'The encoding of the path is not valid' };
  const fault = segments.map(segmentFault).find((one) => one !== null);
  return typeof fault === 'string' ? { fault } : segments.join('/');
}
