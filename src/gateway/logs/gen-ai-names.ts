/** Names operations and providers as OpenTelemetry's conventions for generative AI do. */

const operations: ReadonlyMap<string, string> = new Map([
  ['chat_completions', 'chat'],
  ['messages', 'chat'],
  ['converse', 'chat'],
  ['responses', 'chat'],
  ['completions', 'text_completion'],
  ['embeddings', 'embeddings'],
]);

/** Services that the conventions name differently. */
const providers: ReadonlyMap<string, string> = new Map([
  ['azure-openai', 'azure.ai.openai'],
  ['google', 'gcp.gemini'],
  ['mistral-ai', 'mistral_ai'],
  ['perplexity-ai', 'perplexity'],
  ['x-ai', 'x_ai'],
]);

/** The operation of an endpoint; null where the conventions have none. */
export function genAiOperation(endpoint: string): string | null {
  return operations.get(endpoint) ?? null;
}

export function genAiProvider(service: string): string {
  return providers.get(service) ?? service;
}
