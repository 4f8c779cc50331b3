/** Names the kinds of inference requests by their paths. */

/** Paths below `/v1` that the gateway distinguishes; all others are only forwarded. */
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

/** `/v1/chat/completions`; `/v1/*` for an unknown path, which may contain ids of a caller. */
export function endpointRoute(endpoint: string): string {
  return routes.get(endpoint) ?? '/v1/*';
}

/** Maps a path below `/v1` to one of a few names, which bounds the number of metric labels. */
export function endpointOf(path: string): string {
  return endpoints.get(path) ?? endpoints.get(plainPath(path)) ?? 'other';
}

/** The path as a lenient server reads it: case, percent-encoding and a trailing slash are ignored. */
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
