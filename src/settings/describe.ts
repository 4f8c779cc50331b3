/** Renders the settings as a listing with origins, a Markdown table or a JSON Schema. */
import { z } from 'zod';
import { certificateSummary } from './groups/certificates.ts';
import type { SettingText } from './reading/sources.ts';
import { pem } from './variables/forms.ts';
import { type SettingDescription, settingDescriptions } from './variables/variable.ts';
import {
  describeSetting,
  type SettingName,
  settingNames,
  settingsSchema,
} from './variables/variables.ts';

interface Row {
  readonly name: SettingName;
  readonly facts: SettingDescription;
}

/** Lists every setting with its value and origin; secrets show only their origin. */
export function settingsListing(given: ReadonlyMap<SettingName, SettingText>): string {
  const lines: string[] = [];
  const cells = new Map(settingNames.map((name) => [name, displayValue(name, given.get(name))]));
  const nameWidth = Math.max(...settingNames.map((name) => name.length));
  const valueWidth = Math.min(40, Math.max(...[...cells.values()].map((cell) => cell.length)));
  for (const [group, rows] of byGroup()) {
    lines.push(...(lines.length === 0 ? [] : ['']), group);
    for (const { name, facts } of rows) {
      const origin = originOf(facts, given.get(name));
      const from = facts.effective ? origin : `${origin} (no effect yet)`;
      const value = cells.get(name)!.padEnd(valueWidth);
      lines.push(`  ${name.padEnd(nameWidth)}  ${value}  ${from}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Like {@link settingsListing}, as data by setting name. */
export function settingsDocument(
  given: ReadonlyMap<SettingName, SettingText>,
): Record<string, object> {
  const entries = [...byGroup()].flatMap(([group, rows]) =>
    rows.map(({ name, facts }) => {
      const found = given.get(name);
      const hasValue = found !== undefined || facts.byDefault !== null;
      const value = hasValue ? displayValue(name, found) : null;
      return [name, { group, value, from: originOf(facts, found), effective: facts.effective }];
    }),
  );
  return Object.fromEntries(entries);
}

function originOf({ byDefault }: SettingDescription, given: SettingText | undefined): string {
  return given?.from ?? (byDefault === null ? 'unset' : 'default');
}

function displayValue(name: SettingName, given: SettingText | undefined): string {
  const { secret, file, byDefault } = describeSetting(name);
  if (given === undefined) return byDefault ?? '-';
  if (secret) return `(secret ${given.origin})`;
  const parsed = settingsSchema.shape[name].safeParse(given.text);
  // A malformed value may be a secret in the wrong variable.
  if (!parsed.success) return `(invalid: ${given.text.length} characters)`;
  return file ? certificateSummary(pem.schema.parse(given.text)) : given.text;
}

/** One table for each group: name, default, form, meaning. */
export function settingsMarkdown(): string {
  const lines = ['<!-- made by `gatewright settings -o markdown` -->', '# Settings', '', ...rules];
  for (const [group, rows] of byGroup()) {
    lines.push('', `## ${group}`, '', '| Name | Default | Form | Meaning |', '|---|---|---|---|');
    for (const { name, facts } of rows) {
      const byDefault = facts.byDefault === null ? '' : `\`${facts.byDefault}\``;
      const cells = [`\`${name}\``, byDefault, facts.expected, meaningOf(name, facts)];
      lines.push(`| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

const rules = [
  'Read from the environment and from `.env` in the working directory; the environment wins. An empty',
  'value counts as unset. White space round a value is dropped. All faults are reported at once.',
];

/** JSON Schema (draft 2020-12) of the environment: every property is a string. */
export function settingsJsonSchema(): unknown {
  const schema = z.toJSONSchema(settingsSchema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const facts = settingDescriptions.get(zodSchema);
      if (facts !== undefined) Object.assign(jsonSchema, annotations(facts));
    },
  });
  const fileProperties = settingNames
    .filter((name) => describeSetting(name).file)
    .map((name) => {
      const description = `Path of a file that holds ${name}.`;
      return [
        `${name}_FILE`,
        { type: 'string', description, 'x-group': describeSetting(name).group },
      ];
    });
  return {
    ...schema,
    title: 'Settings of gatewright',
    properties: { ...schema.properties, ...Object.fromEntries(fileProperties) },
  };
}

function annotations(facts: SettingDescription): Record<string, unknown> {
  return {
    description: `${facts.effective ? '' : 'No effect yet. '}${facts.meaning} Form: ${facts.expected}.`,
    examples: [facts.example],
    ...(facts.secret ? { writeOnly: true } : {}),
    'x-group': facts.group,
  };
}

function meaningOf(name: SettingName, facts: SettingDescription): string {
  const meaning = facts.effective ? facts.meaning : `**No effect yet.** ${facts.meaning}`;
  return facts.file ? `${meaning} Or \`${name}_FILE\`.` : meaning;
}

function byGroup(): Map<string, Row[]> {
  const rows = settingNames.map((name): Row => ({ name, facts: describeSetting(name) }));
  return Map.groupBy(rows, ({ facts }) => facts.group);
}
