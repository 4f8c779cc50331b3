/** Reads and validates manifests without a server and without secrets. */
import { resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { environmentIn } from '../../settings/reading/environment.ts';
import { type CheckedSource, checkSource } from '../../sync/desired/desired.ts';
import type { VariableLookup } from '../../sync/overlay/substitute.ts';
import type { WorkspaceScope } from '../../sync/resources/workspace-scope.ts';
import { isGitLocation } from '../../sync/source/git-location.ts';
import { isStandardInput, readSources } from '../../sync/source/source.ts';
import type { SourceFiles } from '../../sync/source/source-files.ts';
import type { CommandIo } from '../shared/command.ts';

/** @param given the environment from the command line, which overrides the setting */
export async function readOffline(
  paths: readonly string[],
  given: string | undefined,
  io: CommandIo,
): Promise<SourceFiles> {
  const locations = paths.length === 0 ? ['.'] : paths;
  const stdin = locations.some(isStandardInput) ? io.stdin : undefined;
  const environment = environmentOf(given, io.cwd);
  const common = { cwd: io.cwd, signal: io.signal, stdin, environment };
  if (!locations.some(isGitLocation)) {
    return await readSources(locations, { ...common, cacheDirectory: io.cwd });
  }
  const { readSettings } = await import('../../settings.ts');
  const { home, sync } = readSettings(undefined, { cwd: io.cwd });
  const cacheDirectory = resolve(io.cwd, home, 'git');
  return await readSources(locations, { ...common, cacheDirectory, git: sync.git });
}

/** Reads only this setting: reading all takes longer than reading most sources. */
function environmentOf(given: string | undefined, cwd: string): string | null {
  const set = given ?? environmentIn(cwd)('GATEWRIGHT_ENVIRONMENT')?.trim();
  return set === undefined || set === '' ? null : set;
}

/** Validates without resolving secrets, which CI jobs do not have. */
export async function checkOffline(
  files: SourceFiles,
  cwd: string,
  scope: WorkspaceScope,
): Promise<CheckedSource> {
  const sources = {
    environment: await offlineVariables(files, cwd),
    readValue: async () => undefined,
    requireSecrets: false,
  };
  return await checkSource(files, sources, scope);
}

/** @throws Failure (invalid input) when the source does not declare a workspace of `--workspace` */
export function requireDeclared(
  names: readonly string[],
  { workspaces }: Pick<CheckedSource, 'workspaces'>,
): void {
  const missing = names.find((name) => !workspaces.has(name));
  if (missing === undefined) return;
  const message = `--workspace ${missing}: no resource of that workspace is declared here`;
  throw new Failure('invalidInput', message);
}

/** The variables that manifests may read; most sources use none. */
export async function offlineVariables(
  { files }: SourceFiles,
  cwd: string,
): Promise<VariableLookup> {
  const mention = files.some(
    ({ content }) => content.includes('${') || content.includes('valueFrom'),
  );
  return mention ? await openVariables(cwd) : () => undefined;
}

/** The code is loaded only when a manifest uses a variable. */
async function openVariables(cwd: string): Promise<VariableLookup> {
  const { manifestVariables } = await import('../../settings/reading/manifest-variables.ts');
  const look = environmentIn(cwd);
  if (look('GATEWRIGHT_SYNC_VARIABLES') === undefined) return manifestVariables(look, []);
  const { readSettings } = await import('../../settings.ts');
  return manifestVariables(look, readSettings(undefined, { cwd }).sync.variables);
}
