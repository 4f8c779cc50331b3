/** Defines the `explain` command, which describes a kind or a field of manifests. */
import { dump } from 'js-yaml';
import { Failure } from '../../failure.ts';
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { didYouMean } from '../../suggest.ts';
import { type Explanation, explain } from '../../sync/authoring/explain.ts';
import { kindNotes } from '../../sync/authoring/kind-notes.ts';
import { kindSchema } from '../../sync/authoring/manifest-schema.ts';
import { newManifest } from '../../sync/authoring/new-manifest.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { optionalWord, outputForm, quoted } from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';

interface ExplainOptions {
  readonly field: string | undefined;
  readonly output: 'text' | 'json';
}

export const explainCommand: Command<ExplainOptions> = {
  examples: [
    ['gatewright explain', 'List the kinds'],
    ['gatewright explain ApiKey', 'List the fields of a kind'],
    ['gatewright explain ApiKey.usageLimits.creditLimit', 'Type, bounds, default and an example'],
    ['gatewright explain Config.config.targets -o json', 'The same for programs'],
  ],
  options: {
    field: {
      ...optionalWord('KIND or KIND.field.path; lists all kinds by default'),
      suggestions: kindNames,
    },
    output: outputForm(['text', 'json']),
  },
  run: async ({ field, output }, io) => {
    if (field === undefined) return listKinds(output, io);
    const [word = '', ...path] = field.split('.');
    const kind = kindOf(word);
    const explanation = explain(kind, await kindSchema(kind), path);
    if (output === 'json') io.stdout.writeJson(explanation);
    else io.stdout.write(textOf(kind, explanation));
    return 'success';
  },
};

function listKinds(output: ExplainOptions['output'], io: CommandIo): 'success' {
  const kinds = kindNames.map((name) => ({ kind: name, meaning: kindNotes[name].meaning }));
  if (output === 'json') io.stdout.writeJson(kinds);
  else io.stdout.write(formatTable(kinds.map(({ kind, meaning }) => [kind, meaning])));
  return 'success';
}

/** Finds a kind case-insensitively. */
function kindOf(word: string): KindName {
  const found = kindNames.find((name) => name.toLowerCase() === word.toLowerCase());
  if (found !== undefined) return found;
  const hint = didYouMean(word, kindNames) ?? `kinds are ${kindNames.join(', ')}`;
  throw new Failure('invalidInput', `the kind ${quoted(word)} is not known: ${hint}`);
}

function textOf(kind: KindName, explanation: Explanation): string {
  const { field, meaning, type, bounds, change, example, fields } = explanation;
  const facts = [
    ['type', type],
    ...(bounds === null ? [] : [['bounds', bounds]]),
    ...(explanation.default === null ? [] : [['default', JSON.stringify(explanation.default)]]),
    ...(change === null ? [] : [['required', requirementOf(explanation)]]),
    ...(change === null ? [] : [['change', change]]),
    ...(explanation.clearedByNull ? [['null', 'clears it']] : []),
    ...(explanation.secret
      ? [['secret', 'write-only: compared by fingerprint, never printed']]
      : []),
  ];
  const isKind = field === kind;
  const exampleText = isKind
    ? newManifest(kind, { name: undefined, workspace: undefined, alone: true })
    : dump({ [field.split('.').at(-1)!]: example }, { lineWidth: 100, noRefs: true });
  const rows = fields.map((one) => [
    `  ${one.name}${one.required ? ' *' : ''}${one.alternatives.length > 0 ? ' |' : ''}`,
    shortened(one.type) + (one.secret ? ', secret' : ''),
    one.meaning,
  ]);
  const groups = new Set(fields.flatMap(({ alternatives }) => alternativesText(alternatives)));
  return [
    `${field}\n  ${meaning}\n`,
    ...(isKind ? [] : [formatTable(facts.map(([name, fact]) => [`  ${name}`, fact!]))]),
    `example\n${exampleText.replaceAll(/^(?=.)/gm, '  ')}`,
    ...(rows.length === 0
      ? []
      : [`fields${isKind ? ' of spec' : ''} (* is required)\n${formatTable(rows)}`]),
    ...[...groups].map((text) => `| ${text}\n`),
  ].join('\n');
}

function requirementOf({ required, alternatives }: Explanation): string {
  const [text] = alternativesText(alternatives);
  return text ?? (required ? 'yes' : 'no');
}

/** Nothing without alternatives. */
function alternativesText(alternatives: readonly string[]): string[] {
  return alternatives.length === 0 ? [] : [`exactly one of ${alternatives.join(', ')}`];
}

const typeColumnsMax = 48;

function shortened(type: string): string {
  return type.length > typeColumnsMax ? `${type.slice(0, typeColumnsMax)}…` : type;
}
