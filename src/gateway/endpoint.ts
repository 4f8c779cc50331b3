/** Knows the kinds of inference requests by their paths: what they are called, and whose form their errors have. */
import type { GatewayErrorForm } from './gateway-error.ts';

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

/** One of a few names, so that figures by it stay few; `path` is behind `/v1`. */
export function endpointOf(path: string): string {
  return endpoints.get(path) ?? 'other';
}

/** Clients of Anthropic read errors in a form of their own. */
export function errorFormOf(path: string): GatewayErrorForm {
  return path === '/messages' || path.startsWith('/messages/') ? 'anthropic' : 'openai';
}
