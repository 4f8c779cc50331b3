/** Compares names of members as lenient providers do, and lists those whose content callers choose freely. */

/** Folds the letter case. */
export function foldedName(name: string): string {
  return /^[a-z\d_]*$/.test(name) ? name : name.toUpperCase().toLowerCase();
}

/** Members whose content the caller chooses freely, so nothing in them instructs a provider. */
const freeMembers: ReadonlySet<string> = new Set([
  'metadata',
  'client_metadata',
  'arguments',
  'parameters',
  'input_schema',
  'output_schema',
  'schema',
  'json_schema',
  'headers',
]);

const callersTools: ReadonlySet<unknown> = new Set([undefined, null, 'function', 'custom']);

/** Members that describe a tool of the caller in formats whose tools may lack a type. */
const describingMembers = [
  'function',
  'name',
  'functionDeclarations',
  'function_declarations',
  'toolSpec',
];

/** Whether the caller runs the tool. The provider runs any other and feeds its results to the model. */
export function isToolOfCaller(tool: unknown): boolean {
  if (typeof tool !== 'object' || tool === null) return true;
  const type = (tool as { readonly type?: unknown }).type ?? null;
  if (type !== null) return callersTools.has(type);
  return describingMembers.some((name) => Object.hasOwn(tool, name));
}

/**
 * Whether the caller chooses the content of a member of `owner` freely. The parameters of a tool that the provider
 * runs instruct the provider.
 */
export function isFreeMember(owner: object, name: string): boolean {
  if (!freeMembers.has(name)) return false;
  return name !== 'parameters' || callersTools.has((owner as { readonly type?: unknown }).type);
}

/** `max_output_tokens` as `maxOutputTokens`. */
export function usualName(name: string): string {
  return name.includes('_') && /^[a-z][a-z\d]*(?:_[a-z\d]+)+$/.test(name)
    ? name.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase())
    : name;
}

/** The words of a name in camel case or with separators, in lower case; empty texts where it begins or ends with one. */
export function wordsOfName(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/);
}
