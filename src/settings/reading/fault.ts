/** Knows how the fault of one setting is told: its name, origin, form and fix, and nothing secret. */
import type { z } from 'zod';
import { factsAbout, type Name } from '../variables/variables.ts';
import type { Given } from './sources.ts';

export function faultOf(name: Name, given: Given, { issues }: z.ZodError): string {
  const [issue] = issues;
  if (issue?.code === 'custom' && typeof issue.params?.fault === 'string') {
    return `${name} (${given.from}) ${issue.params.fault}`;
  }
  const { secret, file, expected, example } = factsAbout(name);
  const fix = `for example ${name}=${example}`;
  const value = secret || file ? lengthOf(given.text) : shown(given.text);
  return `${name} (${given.from}) is ${value}: expected ${expected}, ${fix}`;
}

/** Secrets get pasted into the wrong variable: only what looks harmless is repeated. */
function shown(text: string): string {
  return text.length <= 40 && /^[\w .,:+-]+$/.test(text) ? `"${text}"` : lengthOf(text);
}

function lengthOf(text: string): string {
  return `a text of ${text.length} characters (not shown)`;
}
