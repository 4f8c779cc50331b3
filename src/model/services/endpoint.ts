/** Knows the kinds of inference requests by their paths, and what they are called. */

/** Paths behind `/v1` of which more is known than that they are passed on. */
const endpoints = new Map<string, string>([
  ['/chat/completions', 'chat_completions'],
  ['/completions', 'completions'],
  ['/embeddings', 'embeddings'],
  ['/messages', 'messages'],
  ['/messages/count_tokens', 'count_tokens'],
  ['/responses', 'responses'],
  ['/models', 'models'],
  ['/moderations', 'moderations'],
  ['/files', 'files'],
  ['/batches', 'batches'],
  ['/images/generations', 'image_generations'],
  ['/audio/speech', 'audio_speech'],
  ['/audio/transcriptions', 'audio_transcriptions'],
]);

export const allEndpoints: readonly string[] = [...endpoints.values(), 'other'];

const routes = new Map([...endpoints].map(([path, name]) => [name, `/v1${path}`]));

/** `/v1/chat/completions`; `/v1/*` where the path is not known, as it may hold the ids of others. */
export function endpointRoute(endpoint: string): string {
  return routes.get(endpoint) ?? '/v1/*';
}

/** One of a few names, so that figures by it stay few; `path` is behind `/v1`. */
export function endpointOf(path: string): string {
  return endpoints.get(path) ?? endpoints.get(plainPath(path)) ?? 'other';
}

/** As a server may read it that heeds neither the case of letters nor how they are written, nor a slash at the end. */
function plainPath(path: string): string {
  const decoded = path.includes('%') ? decodedPath(path) : path;
  return decoded.replace(/\/+$/, '').toLowerCase();
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
