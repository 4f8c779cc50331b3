/** Lists the methods whose texts guardrails do not judge, although models or users receive them. */

/** Prompts, contents of resources, and completions; all other methods carry tool calls, lists or settings. */
export const unjudgedMethods: ReadonlySet<string> = new Set([
  'completion/complete',
  'prompts/get',
  'resources/read',
]);
