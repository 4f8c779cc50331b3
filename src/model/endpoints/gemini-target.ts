/** Reads the target of a Gemini request, whose path contains the model and the action in one word. */
import {
  type CanonicalTarget,
  canonicalQuery,
  decodedSegments,
  segmentFault,
} from './canonical-target.ts';
import { endpointAt, geminiPrefix } from './catalogue.ts';

/** The parts of a Gemini path that become members of the body, as requests of other formats have them. */
export interface GeminiAction {
  readonly model: string;
  readonly isStream: boolean;
  /** Whether the caller wants the events of a stream as one JSON list. */
  readonly isList: boolean;
}

export interface GeminiTarget extends CanonicalTarget {
  readonly gemini: GeminiAction;
}

/** Newer clients of Google use the stable version of its API, which has the same form. */
const actionPath = /^\/v1(?:beta)?\/models\/(.+):([A-Za-z]+)$/;

/** Whether the URL may be one of Gemini's; its query may then contain a key. */
export function isGeminiUrl(url: string): boolean {
  return url.startsWith(geminiPrefix) || /^\/v1\/models\/[^?]+:[A-Za-z]+\?/.test(url);
}

/** Null for a request that names no model and action. `path` is the whole path. */
export function geminiTarget(
  method: string | undefined,
  path: string,
  query: string,
): GeminiTarget | { readonly fault: string } | null {
  const [, name, action] = actionPath.exec(path) ?? [];
  if (name === undefined || method !== 'POST') return null;
  const canonical = `/v1beta/models:${action}`;
  if (endpointAt(method, canonical) === null) return null;
  const segments = decodedSegments(`/${name}`);
  if (segments === null) return { fault: 'The encoding of the path is not valid' };
  const fault = segments.map(segmentFault).find((one) => one !== null);
  if (typeof fault === 'string') return { fault };
  const form = new URLSearchParams(query).getAll('alt');
  if (form.length > 1 || (form[0] !== undefined && form[0] !== 'sse' && form[0] !== 'json')) {
    return { fault: 'The query member alt must be sse or json' };
  }
  const isStream = action === 'streamGenerateContent';
  const gemini = { model: segments.join('/'), isStream, isList: isStream && form[0] !== 'sse' };
  return { path: canonical, query: canonicalQuery(query), gemini };
}
