/** States which members a request of Gemini's interactions may have, and where its clients send it. */

/** Members of a request that calls a model. Nothing checks other ones, and agents call models outside of any limit. */
const knownMembers: ReadonlySet<string> = new Set([
  'background',
  'cached_content',
  'generation_config',
  'input',
  'labels',
  'model',
  'previous_interaction_id',
  'response_format',
  'response_mime_type',
  'response_modalities',
  'safety_settings',
  'service_tier',
  'store',
  'stream',
  'system_instruction',
  'tools',
]);

export const interactionsPath = '/v1beta/interactions';

/** The path of every version of the API as that of one; null for any other path. */
export function interactionsTarget(path: string): string | null {
  const [, below] = /^\/v1(?:alpha|beta1?)?\/interactions((?:\/.*)?)$/.exec(path) ?? [];
  return below === undefined ? null : interactionsPath + below;
}

/** The first member that is not listed, `agent` among them, or is in another spelling; null for none. */
export function unknownInteractionMember(params: Readonly<Record<string, unknown>>): string | null {
  const unknown = Object.keys(params).find((name) => !knownMembers.has(name));
  return unknown ?? misspelledIn([params.generation_config, params.input, params.tools], 0);
}

/** Members whose content the caller chooses freely. */
const freeMembers: ReadonlySet<string> = new Set([
  'arguments',
  'parameters',
  'response_format',
  'result',
  'headers',
]);
const depthMax = 32;

/** Google reads `maxOutputTokens` as `max_output_tokens`, which limits would not find. */
function misspelledIn(value: unknown, depth: number): string | null {
  if (typeof value !== 'object' || value === null || depth > depthMax) return null;
  for (const [name, inner] of Object.entries(value)) {
    if (/[A-Z]/.test(name)) return name;
    const found = freeMembers.has(name) ? null : misspelledIn(inner, depth + 1);
    if (found !== null) return found;
  }
  return null;
}
