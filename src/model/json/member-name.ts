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
