/** Defines the options shared by commands that read manifests or call a server, and opens both. */
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { Secret } from '../../secret.ts';
import { readSettings } from '../../settings.ts';
import { SourceCopies } from '../../sync/cycle/source-copies.ts';
import { readDesired, readSource } from '../../sync/desired/desired.ts';
import type { CommandLine } from '../../sync/plan/guards.ts';
import { type DesiredSet, type Identity, identityKey } from '../../sync/resources/resource-set.ts';
import type { WorkspaceScope } from '../../sync/resources/workspace-scope.ts';
import { AdminClient } from '../../sync/server/client.ts';
import type { OpenSinks } from '../../sync/sinks/sink-set.ts';
import { isStandardInput, openCombinedSource } from '../../sync/source/source.ts';
import type { Descent, Source, SourceVersion } from '../../sync/source/source-files.ts';
import type { CommandIo } from '../shared/command.ts';
import {
  ClientCredentials,
  type CredentialsAdvice,
  credentialsPathOf,
  readCredentials,
} from '../shared/credentials-file.ts';
import {
  environmentOption,
  homeOption,
  type OptionTable,
  positionalWords,
  textOption,
  workspaceOption,
} from '../shared/option.ts';
import { shellLine } from '../shared/shell-line.ts';
import { requireValidPart, sourceFailure } from './valid-part.ts';
import { valueStoresIn } from './value-stores.ts';

export interface ServerOptions {
  readonly home: string | undefined;
  readonly credentials: string | undefined;
  readonly owner: string | undefined;
}

export interface ManifestOptions extends ServerOptions {
  readonly paths: readonly string[];
  readonly 'secrets-dir': string | undefined;
  readonly workspace: readonly string[];
  readonly env: string | undefined;
}

/** Options of every command that calls a server. */
export const serverOptions: OptionTable<ServerOptions> = {
  credentials: textOption('FILE', {
    describe: 'File with the credentials of the server',
    fallback: 'GATEWRIGHT_CREDENTIALS, else credentials.json in the home',
  }),
  owner: textOption('NAME', {
    describe: 'Owner name of this installation; every resource has one owner',
    fallback: 'GATEWRIGHT_OWNER, else gatewright',
  }),
  home: homeOption,
};

/** Options of every command that also reads manifests. */
export const manifestOptions: OptionTable<ManifestOptions> = {
  paths: positionalWords('Folders, files, Git URLs, or - for standard input', 'the current folder'),
  ...serverOptions,
  'secrets-dir': textOption('DIR', {
    describe: 'Folder of key values and valueFrom files',
    fallback: 'GATEWRIGHT_SECRETS_DIR, else secrets in the home',
  }),
  workspace: workspaceOption,
  env: environmentOption,
};

const advice: CredentialsAdvice = {
  missing:
    'Start a server with `gatewright up`, create credentials with `gatewright bootstrap`, or pass ' +
    'the file with --credentials FILE.',
  damaged: 'Create a new one with `gatewright bootstrap`.',
};

/**
 * @param tsgId tenant to act in, if it is not that of the credentials
 * @throws Failure (invalid input) naming the credentials file and how to create it
 */
export function openClient(options: ServerOptions, io: CommandIo, tsgId?: string): AdminClient {
  const settings = readSettings(undefined, { cwd: io.cwd });
  const home = resolve(io.cwd, options.home ?? settings.home);
  const given = options.credentials ?? settings.sync.credentialsFile;
  const file = given === null ? credentialsPathOf(home) : resolve(io.cwd, given);
  const { clientSecret, ...credentials } = readCredentials(file, ClientCredentials, advice);
  return new AdminClient({
    ...credentials,
    ...(tsgId === undefined ? {} : { tsgId }),
    clientSecret: new Secret(clientSecret, `file:${file}`),
    credentialsOrigin: file,
    cacheFolder: join(home, 'snapshots'),
    proxies: settings.proxies,
    owner: readOwner(options.owner ?? settings.sync.owner),
  });
}

function readOwner(owner: string): string {
  if (managedNamePattern.test(owner)) return owner;
  const message = `--owner is ${JSON.stringify(owner)}: expected ${managedNameForm}`;
  throw new Failure('invalidInput', message);
}

/** Opened manifests, with the folder of key values. */
export interface OpenedManifests {
  readonly secretsFolder: string;
  readonly openSinks: OpenSinks;
  readonly locations: readonly string[];
  /** The selected environment; null for none. */
  readonly environment: string | null;
  /** The current version; see `Source.newest`. */
  readonly newest: () => Promise<SourceVersion>;
  /** The workspaces that are read. */
  readonly scope: WorkspaceScope;
  /** @throws Failure (invalid input) that lists every fault of the scope with its position */
  readonly read: () => Promise<DesiredSet>;
  /**
   * Reads the valid part of the manifests.
   *
   * @throws Failure (invalid input) like `read` when no workspace of the scope is valid
   */
  readonly readValidPart: () => Promise<DesiredSet>;
  /** Holds the versions that were read, for the server. */
  readonly copies: SourceCopies;
  /** See `Source.descent`. */
  readonly descent: (earlier: string, commit: string) => Promise<Descent | undefined>;
}

/** @param onSize called with the size of the source in bytes before it is parsed */
export function openManifests(
  options: ManifestOptions,
  io: CommandIo,
  onSize?: (bytes: number) => void,
): OpenedManifests {
  const settings = readSettings(undefined, { cwd: io.cwd });
  const home = resolve(io.cwd, options.home ?? settings.home);
  const given = options['secrets-dir'] ?? settings.sync.secretsDirectory;
  const secretsFolder = given === null ? join(home, 'secrets') : resolve(io.cwd, given);
  const { sources, openSinks } = valueStoresIn(io.cwd, secretsFolder, settings);
  const locations = locationsOf(options);
  const scope = scopeOf(options);
  const environment = options.env ?? settings.sync.environment;
  const sourceOptions = {
    cwd: io.cwd,
    cacheDirectory: join(home, 'git'),
    git: { ...settings.sync.git, proxies: settings.proxies },
    environment,
    signal: io.signal,
    ...(locations.some(isStandardInput) ? { stdin: io.stdin } : {}),
  };
  // Opened once, on first use: standard input can be read only once.
  let opened: Source | undefined;
  const open = (): Source => {
    opened ??= openCombinedSource(locations, sourceOptions);
    return opened;
  };
  const copies = new SourceCopies();
  return {
    secretsFolder,
    openSinks,
    locations,
    environment,
    scope,
    copies,
    newest: async () => await open().newest(),
    read: async () => {
      const found = await open().read();
      onSize?.(found.files.reduce((sum, { content }) => sum + content.length, 0));
      const { set, faults } = await readDesired(found, sources, scope);
      if (set === undefined) throw sourceFailure(faults);
      copies.note(found, set);
      return set;
    },
    readValidPart: async () => {
      const found = await open().read();
      const set = requireValidPart(await readSource(found, sources), scope);
      copies.note(found, set);
      return set;
    },
    descent: async (earlier, commit) => await open().descent?.(earlier, commit),
  };
}

/** The options that a follow-up command repeats: see {@link applyCommand}. */
export interface FollowUpOptions extends ManifestOptions {
  readonly 'take-ownership'?: boolean;
  readonly 'no-prune'?: boolean;
  readonly 'allow-deletes'?: number | undefined;
  readonly delete?: readonly Identity[];
  readonly 'even-if-suspended'?: boolean;
  readonly 'accept-history'?: boolean;
  /** Only for `apply`. */
  readonly atomic?: boolean;
  readonly yes?: boolean;
  readonly report?: string | undefined;
  readonly 'commit-status'?: boolean;
  readonly output?: string;
}

/**
 * Writes the `apply` command that continues where this command stopped, with the current options and
 * further ones that confirm held-back changes. Manifests from standard input imply --yes, because the
 * terminal cannot be asked.
 */
export function applyCommand(options: FollowUpOptions, cwd: string): CommandLine {
  const { atomic = false, report, yes = false } = options;
  return followUpCommand('apply', options, cwd, {
    atomic,
    yes: yes || locationsOf(options).includes('-'),
    ...(report === undefined ? {} : { report }),
    'commit-status': options['commit-status'] ?? false,
    ...(options.output === 'json' ? { output: 'json' } : {}),
  });
}

/** Writes the command that saves the plan to `out`; see {@link applyCommand}. */
export function planCommand(options: FollowUpOptions, out: string, cwd: string): CommandLine {
  return followUpCommand('plan', options, cwd, { out });
}

function followUpCommand(
  verb: string,
  options: FollowUpOptions,
  cwd: string,
  own: Readonly<Record<string, string | boolean>>,
): CommandLine {
  const { home, credentials, owner, env, 'allow-deletes': allowDeletes } = options;
  const inForce = {
    home,
    credentials,
    owner,
    env,
    'secrets-dir': options['secrets-dir'],
    'take-ownership': options['take-ownership'],
    'no-prune': options['no-prune'],
    ...(allowDeletes === undefined ? {} : { 'allow-deletes': String(allowDeletes) }),
    'even-if-suspended': options['even-if-suspended'],
    workspace: options.workspace,
    'accept-history': options['accept-history'],
    ...own,
  };
  const released = (options.delete ?? []).map(identityKey);
  return (more) => {
    const named = typeof more.delete === 'string' ? more.delete.split(',') : [];
    const all = [...new Set([...released, ...named])].toSorted();
    const deletions = all.length === 0 ? {} : { delete: all.join(',') };
    return shellLine(cwd, verb, locationsOf(options), { ...inForce, ...more, ...deletions });
  };
}

/** The scope that `--workspace` selects; null for all workspaces. */
export function scopeOf({ workspace }: Pick<ManifestOptions, 'workspace'>): WorkspaceScope {
  return workspace.length === 0 ? null : new Set(workspace);
}

/** The named locations, by default the current folder. */
export function locationsOf({ paths }: Pick<ManifestOptions, 'paths'>): string[] {
  return paths.length === 0 ? ['.'] : [...paths];
}

/** The holder name of this run in a lease: `apply on host-1 (process 12)`. */
export function holderName(command: string): string {
  return `${command} on ${hostname()} (process ${process.pid})`;
}
