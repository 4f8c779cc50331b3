/** Knows the `validate` command: reads manifests offline and tells every mistake with its place. */
import { resolve } from 'node:path';
import { Failure } from '../failure.ts';
import { kindNames } from '../model/kinds.ts';
import { environmentIn } from '../settings/environment.ts';
import { type Checked, checkSource } from '../sync/manifest/desired.ts';
import type { Environment } from '../sync/overlay/substitute.ts';
import { leftAloneLines } from '../sync/report/left-alone.ts';
import { isGitLocation } from '../sync/source/git-location.ts';
import { isStandardInput, readSources } from '../sync/source/source.ts';
import type { SourceFiles } from '../sync/source/source-files.ts';
import type { WorkspaceScope } from '../sync/spec/workspace-scope.ts';
import type { Command, CommandIo } from './shared/command.ts';
import { formatFaults, formatGithubFaults, groupFaults } from './shared/fault-text.ts';
import { environmentOption, names, outputForm, words } from './shared/option.ts';
import { formatTable } from './shared/table.ts';

type Format = 'text' | 'json' | 'github';

interface ValidateOptions {
  readonly paths: readonly string[];
  readonly workspace: readonly string[];
  readonly env: string | undefined;
  readonly output: Format;
}

export const validate: Command<ValidateOptions> = {
  summary: 'Check manifests without a server',
  examples: [
    ['gatewright validate examples/1-quickstart', 'Check a folder and all folders below it'],
    ['gatewright validate shared team-a/keys.yaml', 'Check several places as one source'],
    ['kustomize build . | gatewright validate -', 'Check what another program writes'],
    ['gatewright validate -o github gateway', 'Write annotations for a GitHub workflow'],
  ],
  options: {
    paths: words('Folders, files, Git URLs, or - for standard input; the current folder if none'),
    workspace: names('NAME', {
      describe: 'Only this workspace, by its name in manifests; may be given several times',
      fallback: 'all, and what is the organisation’s',
    }),
    env: environmentOption,
    output: outputForm(['text', 'json', 'github'], 'Form of the result'),
  },
  run: async ({ paths, workspace, env, output }, io) => {
    const locations = paths.length === 0 ? ['.'] : paths;
    const files = await readFiles(locations, env, io);
    const checked = await check(files, io.cwd, workspace.length === 0 ? null : new Set(workspace));
    const missing = workspace.find((name) => !checked.workspaces.has(name));
    if (missing !== undefined && checked.faults.length === 0) {
      const message = `--workspace ${missing}: no resource of that workspace is declared here`;
      throw new Failure('invalidInput', message);
    }
    io.stdout.write(writers[output](checked, files));
    return checked.faults.length === 0 ? 'success' : 'invalidInput';
  },
};

async function readFiles(
  locations: readonly string[],
  env: string | undefined,
  io: CommandIo,
): Promise<SourceFiles> {
  const stdin = locations.some(isStandardInput) ? io.stdin : undefined;
  const common = { cwd: io.cwd, signal: io.signal, stdin, environment: environmentOf(env, io.cwd) };
  if (!locations.some(isGitLocation)) {
    return await readSources(locations, { ...common, cacheDirectory: io.cwd });
  }
  const { readSettings } = await import('../settings.ts');
  const { home, sync } = readSettings(undefined, { cwd: io.cwd });
  const cacheDirectory = resolve(io.cwd, home, 'git');
  return await readSources(locations, { ...common, cacheDirectory, git: sync.git });
}

/** Settings as a whole take longer to read than most sources. */
function environmentOf(given: string | undefined, cwd: string): string | null {
  const set = given ?? environmentIn(cwd)('GATEWRIGHT_ENVIRONMENT')?.trim();
  return set === undefined || set === '' ? null : set;
}

/** Continuous integration checks manifests without holding the secrets that they name. */
async function check(files: SourceFiles, cwd: string, scope: WorkspaceScope): Promise<Checked> {
  const mention = files.files.some(
    ({ content }) => content.includes('${') || content.includes('valueFrom'),
  );
  const sources = {
    environment: mention ? await openVariables(cwd) : () => undefined,
    readValue: async () => undefined,
    requireSecrets: false,
  };
  return await checkSource(files, sources, scope);
}

/** Loaded where a manifest mentions one, because most mention none. */
async function openVariables(cwd: string): Promise<Environment> {
  const { manifestVariables } = await import('../settings/manifest-variables.ts');
  const look = environmentIn(cwd);
  if (look('GATEWRIGHT_SYNC_VARIABLES') === undefined) return manifestVariables(look, []);
  const { readSettings } = await import('../settings.ts');
  return manifestVariables(look, readSettings(undefined, { cwd }).sync.variables);
}

const writers: Readonly<Record<Format, (checked: Checked, files: SourceFiles) => string>> = {
  text: ({ faults, kinds, leftAlone }, { files }) => {
    if (faults.length > 0) return formatFaults(faults);
    const counts = Object.entries(countByKind(kinds));
    const heading = `${counted(kinds.length, 'resource')} in ${counted(files.length - leftAlone.foreignFiles.length, 'file')}, all valid\n`;
    const table = formatTable(counts.map(([kind, count]) => [`  ${kind}`, `${count}`]));
    return [heading + table, ...leftAloneLines(leftAlone).map((line) => `${line}\n`)].join('');
  },
  json: ({ faults, kinds, leftAlone }, { files }) => {
    const isValid = faults.length === 0;
    const result = {
      valid: isValid,
      files: files.length - leftAlone.foreignFiles.length,
      leftAlone,
      resources: countByKind(isValid ? kinds : []),
      faults: groupFaults(faults).map(({ fault: { position, code, message, fix }, places }) => ({
        ...position,
        code,
        message,
        fix: fix ?? null,
        places,
      })),
    };
    return `${JSON.stringify(result, null, 2)}\n`;
  },
  github: ({ faults }) => formatGithubFaults(faults),
};

/** Kinds that occur, in the order in which the kinds are documented. */
function countByKind(kinds: readonly string[]): Record<string, number> {
  const counts = kindNames.map((name) => [name, kinds.filter((kind) => kind === name).length]);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0));
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
