/** Lists the kinds of objects that providers store for callers by their paths, and the paths of whole accounts. */
import type { Capability } from '../../model/services/capabilities.ts';
import type { ObjectKind } from '../../objects/object-request.ts';

export interface OwnedKind {
  readonly kind: ObjectKind;
  /** Path segments before the id, in lower case. */
  readonly path: readonly string[];
  /** Capability of an integration that says who stores them; null when it is always the provider. */
  readonly capability: Capability | null;
  /** Segments in the position of an id that are not ids. */
  readonly words: readonly string[];
  /** Segments after an id that create another object of the kind. */
  readonly makers: readonly string[];
  /** Whether requests of this method concern these objects. */
  readonly has: (method: string | undefined, isOfOne: boolean) => boolean;
}

const always = (): boolean => true;

function kindAt(path: string, more: Partial<OwnedKind> = {}): OwnedKind {
  const words = path.split('/');
  const kind = words.join('_') as ObjectKind;
  return { kind, path: words, capability: null, words: [], makers: [], has: always, ...more };
}

const kinds: readonly OwnedKind[] = [
  kindAt('responses', { capability: 'responses', words: ['input_tokens', 'compact'] }),
  kindAt('conversations'),
  // Files inside a container are not top-level files.
  kindAt('containers'),
  kindAt('vector_stores', { capability: 'vector_stores' }),
  kindAt('files', { capability: 'files' }),
  kindAt('uploads'),
  kindAt('batches'),
  kindAt('assistants', { capability: 'assistants' }),
  kindAt('threads', { capability: 'assistants', words: ['runs'] }),
  // A POST without an id calls a model.
  kindAt('chat/completions', { has: (method, isOfOne) => isOfOne || method !== 'POST' }),
  kindAt('messages/batches', { kind: 'message_batches' }),
  kindAt('fine_tuning/jobs'),
  // Only models that jobs created are owned; everybody may read the others.
  kindAt('models', { has: (method, isOfOne) => isOfOne && method === 'DELETE' }),
  kindAt('fine_tuning/checkpoints', { kind: 'models' }),
  kindAt('evals'),
  kindAt('skills'),
  kindAt('videos', {
    words: ['edits', 'extensions'],
    makers: ['edits', 'extensions', 'remix'],
  }),
  kindAt('videos/characters', { kind: 'video_characters' }),
];

const byFirstWord = Map.groupBy(
  kinds.toSorted((one, other) => other.path.length - one.path.length),
  ({ path }) => path[0]!,
);

/** Finds the kind whose path begins at this segment; `segments` in lower case. */
export function kindAtSegment(segments: readonly string[], at: number): OwnedKind | null {
  const some = byFirstWord.get(segments[at]!) ?? [];
  return (
    some.find(({ path }) => path.every((word, index) => word === segments[at + index])) ?? null
  );
}

/** Returns the path that lists the objects of a kind. */
export function listPathOf(kind: ObjectKind): string {
  return `/${kinds.find((one) => one.kind === kind)!.path.join('/')}`;
}

/**
 * Paths of the account at a provider as a whole, or that bypass the gateway: people, projects, keys and webhooks;
 * session secrets for direct access to the provider; agents that call models themselves; voices of persons.
 */
const accountPaths: readonly string[] = [
  'organization',
  'organizations',
  'projects',
  'webhook_endpoints',
  'webhook_event_types',
  'safety',
  'realtime',
  'live',
  'chatkit',
  'audio/voices',
  'audio/voice_consents',
  'agents',
  'environments',
  'sessions',
  'deployments',
  'deployment_runs',
  'vaults',
  'memory_stores',
  'dreams',
  'tunnels',
  'user_profiles',
];
const accountSegments: readonly (readonly string[])[] = accountPaths.map((path) => path.split('/'));

/** Path prefixes at which other services serve models. */
const modelPaths = [
  /^models\//,
  /^agents\/completions$/,
  /^projects\/[^/]+\/locations\//,
  /^(?:openai\/)?deployments\/[^/]+\/(?:chat|completions|embeddings|images|audio|responses)\b/,
];

/** Returns the index at which an account path begins; -1 for none. `segments` in lower case. */
export function accountSegment(segments: readonly string[]): number {
  if (modelPaths.some((pattern) => pattern.test(segments.join('/')))) return -1;
  return segments.findIndex((_, at) =>
    accountSegments.some((words) => words.every((word, index) => word === segments[at + index])),
  );
}
