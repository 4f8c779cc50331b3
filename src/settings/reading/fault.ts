/** Describes the fault of one setting: name, origin, expected form and fix, without secrets. */
import type { z } from 'zod';
import { describeSetting, type SettingName } from '../variables/variables.ts';
import type { SettingText } from './sources.ts';

export function describeSettingFault(
  name: SettingName,
  given: SettingText,
  { issues }: z.ZodError,
): string {
  const [issue] = issues;
  if (issue?.code === 'custom' && typeof issue.params?.fault === 'string') {
    return `${name} (${given.from}) ${issue.params.fault}`;
  }
  const { secret, file, expected, example } = describeSetting(name);
  const fix = `for example ${name}=${example}`;
  const value = secret || file ? lengthOf(given.text) : displayText(given.text);
  return `${name} (${given.from}) is ${value}: expected ${expected}, ${fix}`;
}

/** Repeats only values that look harmless, because secrets are sometimes set in the wrong variable. */
function displayText(text: string): string {
  return text.length <= 40 && /^[\w .,:+-]+$/.test(text) ? `"${text}"` : lengthOf(text);
}

function lengthOf(text: string): string {
  return `a text of ${text.length} characters (not shown)`;
}

/** A heading followed by one fault a line. */
export function faultList(faults: readonly string[]): string {
  const heading =
    faults.length === 1 ? '1 setting is wrong:' : `${faults.length} settings are wrong:`;
  return [heading, ...faults.map((fault) => `  ${fault}`)].join('\n');
}
