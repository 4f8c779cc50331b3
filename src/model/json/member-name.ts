/** Compares names of members as lenient providers do, and lists those whose content callers choose freely. */

/** Folds the letter case. */
export function foldedName(name: string): string {
  return /^[a-z\d_]*$/.test(name) ? name : name.toUpperCase().toLowerCase();
}

/** Members whose content the caller chooses freely, so nothing in them instructs a provider. */
export const freeMembers: readonly string[] = [
  'metadata',
  'client_metadata',
  'arguments',
  'parameters',
  'input_schema',
  'output_schema',
  'schema',
  'json_schema',
  'headers',
];

/** `max_output_tokens` as `maxOutputTokens`. */
export function usualName(name: string): string {
  return name.includes('_') && /^[a-z][a-z\d]*(?:_[a-z\d]+)+$/.test(name)
    ? name.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase())
    : name;
}
