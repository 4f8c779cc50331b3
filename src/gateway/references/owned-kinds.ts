/** Knows the kinds of objects that providers keep for callers, by their paths, and what they keep for an account as a whole. */
import type { Capability } from '../../model/services/capabilities.ts';
import type { ObjectKind } from '../../objects/object-request.ts';

export interface OwnedKind {
  readonly kind: ObjectKind;
  /** Behind these words stands the id; in small letters. */
  readonly path: readonly string[];
  /** What of an integration says who keeps them; null where that is always the provider. */
  readonly capability: Capability | null;
  /** Words that stand where ids do and are none. */
  readonly words: readonly string[];
  /** Besides the path itself, what stands behind it where another one is made of one that there is. */
  readonly makers: readonly string[];
  /** Whether requests of this method are about these objects at all. */
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
  // Files within one are none that lie beside it.
  kindAt('containers'),
  kindAt('vector_stores', { capability: 'vector_stores' }),
  kindAt('files', { capability: 'files' }),
  kindAt('uploads'),
  kindAt('batches'),
  kindAt('assistants', { capability: 'assistants' }),
  kindAt('threads', { capability: 'assistants', words: ['runs'] }),
  // Without an id, a model is asked.
  kindAt('chat/completions', { has: (method, isOfOne) => isOfOne || method !== 'POST' }),
  kindAt('messages/batches', { kind: 'message_batches' }),
  kindAt('fine_tuning/jobs'),
  // Models that jobs have made. All others are everybody's to look at.
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

/** Whose path begins at this segment; `segments` in small letters. */
export function kindAtSegment(segments: readonly string[], at: number): OwnedKind | null {
  const some = byFirstWord.get(segments[at]!) ?? [];
  return (
    some.find(({ path }) => path.every((word, index) => word === segments[at + index])) ?? null
  );
}

/** Behind which address all of one kind are listed, and each is asked for. */
export function listPathOf(kind: ObjectKind): string {
  return `/${kinds.find((one) => one.kind === kind)!.path.join('/')}`;
}

/**
 * What a provider has for its account as a whole, or what is asked past the gateway: people, projects,
 * keys and where events go; secrets with which their holder talks to the provider himself; agents that
 * ask models by themselves; voices, which are a person's.
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
const ofAccount: readonly (readonly string[])[] = accountPaths.map((path) => path.split('/'));

/** At the beginning of a path: other services have models below some of these words. */
const modelPaths = [
  /^models\//,
  /^agents\/completions$/,
  /^projects\/[^/]+\/locations\//,
  /^(?:openai\/)?deployments\/[^/]+\/(?:chat|completions|embeddings|images|audio|responses)\b/,
];

/** Where in a path that begins which no workspace has for itself; -1 for nowhere. `segments` in small letters. */
export function accountSegment(segments: readonly string[]): number {
  if (modelPaths.some((pattern) => pattern.test(segments.join('/')))) return -1;
  return segments.findIndex((_, at) =>
    ofAccount.some((words) => words.every((word, index) => word === segments[at + index])),
  );
}
