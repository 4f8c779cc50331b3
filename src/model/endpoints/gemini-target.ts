/** Reads the target of a Gemini request, whose path contains the model and the action in one word. */
import { canonicalQuery } from './canonical-target.ts';
import { endpointAt, geminiPrefix } from './catalogue.ts';
import { type ActionTarget, modelIn } from './cloud-target.ts';

/** Newer clients of Google use the stable version of its API, and those of Vertex AI name a project. */
const actionPath =
  /^\/v1(?:beta1?)?\/(?:(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/google\/)?models\/(.+):([A-Za-z]+)$/;

/** Whether the URL may be one of Gemini's; its query may then contain a key. */
export function isGeminiUrl(url: string): boolean {
  return (
    url.startsWith(geminiPrefix) ||
    /^\/v1(?:beta1)?\/(?:models|projects|publishers)\/[^?]+:[A-Za-z]+\?/.test(url)
  );
}

/** Null for a request that names no model and action. `path` is the whole path. */
export function geminiTarget(
  method: string | undefined,
  path: string,
  query: string,
): ActionTarget | { readonly fault: string } | null {
  const [, name, action] = actionPath.exec(path) ?? [];
  if (name === undefined || method !== 'POST') return null;
  const canonical = `/v1beta/models:${action}`;
  if (endpointAt(method, canonical) === null) return null;
  const model = modelIn(name);
  if (typeof model !== 'string') return model;
  const form = new URLSearchParams(query).getAll('alt');
  if (form.length > 1 || (form[0] !== undefined && form[0] !== 'sse' && form[0] !== 'json')) {
    return { fault: 'The query member alt must be sse or json' };
  }
  const isStream = action === 'streamGenerateContent';
  const isList = isStream && form[0] !== 'sse';
  return {
    path: canonical,
    query: canonicalQuery(query),
    action: { form: action === 'predict' ? 'predict' : 'gemini', model, isStream, isList },
  };
}
