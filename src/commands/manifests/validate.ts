/** Defines the `validate` command, which checks manifests offline and reports every fault with its position. */
import { kindNames } from '../../model/kinds/kinds.ts';
import type { CheckedSource } from '../../sync/desired/desired.ts';
import { leftAloneLines } from '../../sync/report/left-alone.ts';
import { fileFault, type SourceFault, type SourceFiles } from '../../sync/source/source-files.ts';
import type { Command } from '../shared/command.ts';
import {
  environmentOption,
  outputForm,
  positionalWords,
  workspaceOption,
} from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';
import {
  formatFaults,
  formatGithubFaults,
  formatWarnings,
  groupFaults,
} from '../sources/fault-text.ts';
import { checkOffline, readOffline, requireDeclared } from '../sources/offline-source.ts';

type Format = 'text' | 'json' | 'github';

interface ValidateOptions {
  readonly paths: readonly string[];
  readonly workspace: readonly string[];
  readonly env: string | undefined;
  readonly output: Format;
}

export const validate: Command<ValidateOptions> = {
  examples: [
    ['gatewright validate examples/1-quickstart', 'Check a folder and all folders below it'],
    ['gatewright validate shared team-a/keys.yaml', 'Check several locations as one source'],
    ['kustomize build . | gatewright validate -', 'Check the output of another program'],
    ['gatewright validate -o github gateway', 'Write annotations for a GitHub workflow'],
  ],
  options: {
    paths: positionalWords(
      'Folders, files, Git URLs, or - for standard input',
      'the current folder',
    ),
    workspace: workspaceOption,
    env: environmentOption,
    output: outputForm(['text', 'json', 'github'], 'Form of the result'),
  },
  run: async ({ paths, workspace, env, output }, io) => {
    const files = await readOffline(paths, env, io);
    const scope = workspace.length === 0 ? null : new Set(workspace);
    const checked = withEmptyFault(await checkOffline(files, io.cwd, scope), paths);
    if (checked.faults.length === 0) requireDeclared(workspace, checked);
    io.stdout.write(writers[output](checked, files));
    return checked.faults.length === 0 ? 'success' : 'invalidInput';
  },
};

/** An empty source is a fault: the path is probably mistyped, and a CI job would check nothing. */
function withEmptyFault(checked: CheckedSource, paths: readonly string[]): CheckedSource {
  if (!checked.isEmpty || checked.faults.length > 0) return checked;
  const place = paths.length === 0 ? '.' : paths.join(', ');
  const fix = 'name a folder or file with manifests; their names end in .yaml, .yml or .json';
  return { ...checked, faults: [fileFault(place, 'no-manifests', 'declares nothing', fix)] };
}

const writers: Readonly<Record<Format, (checked: CheckedSource, files: SourceFiles) => string>> = {
  text: ({ faults, kinds, leftAlone, warnings }, { files }) => {
    if (faults.length > 0) return formatFaults(faults);
    const counts = Object.entries(countByKind(kinds));
    const heading = `${counted(kinds.length, 'resource')} in ${counted(files.length - leftAlone.foreignFiles.length, 'file')}, all valid\n`;
    const table = formatTable(counts.map(([kind, count]) => [`  ${kind}`, `${count}`]));
    const beside = leftAloneLines(leftAlone).map((line) => `${line}\n`);
    return [heading, table, ...beside, formatWarnings(warnings)].join('');
  },
  json: ({ faults, kinds, leftAlone, warnings }, { files }) => {
    const isValid = faults.length === 0;
    const result = {
      valid: isValid,
      files: files.length - leftAlone.foreignFiles.length,
      leftAlone,
      resources: countByKind(isValid ? kinds : []),
      faults: noteDocuments(faults),
      warnings: noteDocuments(warnings),
    };
    return `${JSON.stringify(result, null, 2)}\n`;
  },
  github: ({ faults, warnings }) =>
    formatGithubFaults(faults) + formatGithubFaults(warnings, 'warning'),
};

function noteDocuments(notes: readonly SourceFault[]) {
  return groupFaults(notes).map(({ fault: { position, code, message, fix }, places }) => ({
    ...position,
    code,
    message,
    fix: fix ?? null,
    places,
  }));
}

/** Counts of the kinds that occur, in the order of the documentation. */
function countByKind(kinds: readonly string[]): Record<string, number> {
  const counts = kindNames.map((name) => [name, kinds.filter((kind) => kind === name).length]);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0));
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
