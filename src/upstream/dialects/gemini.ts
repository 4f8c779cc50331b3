/** Defines Gemini's wire format: key in its own header, model and action in the last word of the path. */
import { usualName } from '../../model/json/member-name.ts';
import { type Dialect, type DialectRequest, type MemberChanges, NotServed } from './dialect.ts';

export const gemini: Dialect = {
  credentialHeaders: (credential) => ({ 'x-goog-api-key': credential }),
  accountHeaders: () => ({}),
  passedHeaders: ['x-goog-api-client'],
  usualHeaders: {},
  pathOf: ({ path, model, params }) => {
    const [, action] = /^\/v1beta\/models:([A-Za-z]+)/.exec(path) ?? [];
    if (action === undefined) return path.replace(/^\/v1beta/, '');
    requireUsualNames(params);
    const segments = nameOf(model).split('/');
    const name = segments.map(encodeURIComponent).join('/');
    return `/models/${name}:${action}${action.startsWith('stream') ? '?alt=sse' : ''}`;
  },
  changesOf,
};

function nameOf(model: string | null): string {
  return (model ?? '').replace(/^models\//, '').toWellFormed();
}

/** Model and stream are in the path; requests inside of the body repeat the model. */
function changesOf({ path, model, params }: DialectRequest): MemberChanges | null {
  // Interactions name both in the body.
  if (path.startsWith('/v1beta/interactions')) return null;
  const changes = new Map<string, unknown>();
  for (const name of ['model', 'stream']) {
    if (params[name] !== undefined) changes.set(name, undefined);
  }
  const named = `models/${nameOf(model)}`;
  const { requests, generateContentRequest: counted } = params;
  if (Array.isArray(requests)) {
    const each = requests.map((one: unknown) => ({ ...(one as object), model: named }));
    changes.set('requests', each);
  }
  if (typeof counted === 'object' && counted !== null) {
    changes.set('generateContentRequest', { ...counted, model: named });
  }
  return changes.size === 0 ? null : changes;
}

/** A config may add a member in the other spelling, in which limits would not find it. */
function requireUsualNames(params: DialectRequest['params']): void {
  const { generationConfig } = params;
  const inner = typeof generationConfig === 'object' ? Object.keys(generationConfig ?? {}) : [];
  const names = [...Object.keys(params), ...inner];
  const misspelled = names.find((name) => usualName(name) !== name);
  if (misspelled === undefined) return;
  throw new NotServed(`Spell ${misspelled} as ${usualName(misspelled)} in the config`, misspelled);
}
