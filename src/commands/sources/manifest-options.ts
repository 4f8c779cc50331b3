/** Knows the options that plan, apply and export share: where the source, the server and the secrets are. */
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { Secret } from '../../secret.ts';
import { readSettings } from '../../settings.ts';
import { readDesired, readSource } from '../../sync/desired/desired.ts';
import type { CommandLine } from '../../sync/plan/guards.ts';
import { type DesiredSet, type Identity, identityKey } from '../../sync/resources/resource-set.ts';
import type { WorkspaceScope } from '../../sync/resources/workspace-scope.ts';
import { AdminClient } from '../../sync/server/client.ts';
import type { OpenSinks } from '../../sync/sinks/sinks.ts';
import { isStandardInput, openSources } from '../../sync/source/source.ts';
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
  text,
  words,
  workspaceOption,
} from '../shared/option.ts';
import { shellLine } from '../shared/shell-line.ts';
import { faulty, soundPart } from './sound-part.ts';
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

/** Options of every command that talks to a server. */
export const serverOptions: OptionTable<ServerOptions> = {
  credentials: text('FILE', {
    describe: 'credentials.json of the server',
    fallback: 'GATEWRIGHT_CREDENTIALS, else credentials.json in the home',
  }),
  owner: text('NAME', {
    describe: 'Name of this installation; every resource belongs to one owner',
    fallback: 'GATEWRIGHT_OWNER, else gatewright',
  }),
  home: homeOption,
};

/** Options of every command that reads manifests, too. */
export const manifestOptions: OptionTable<ManifestOptions> = {
  paths: words('Folders, files, Git URLs, or - for standard input', 'the current folder'),
  ...serverOptions,
  'secrets-dir': text('DIR', {
    describe: 'Folder for key values and for valueFrom files',
    fallback: 'GATEWRIGHT_SECRETS_DIR, else secrets in the home',
  }),
  workspace: workspaceOption,
  env: environmentOption,
};

const advice: CredentialsAdvice = {
  missing:
    'Start a server with `gatewright up`, or make credentials with `gatewright bootstrap`, or name ' +
    'the file with --credentials FILE.',
  damaged: '`gatewright bootstrap` writes one.',
};

/** @throws Failure (invalid input) naming the file and how to get one */
export function openClient(options: ServerOptions, io: CommandIo): AdminClient {
  const settings = readSettings(undefined, { cwd: io.cwd });
  const home = resolve(io.cwd, options.home ?? settings.home);
  const given = options.credentials ?? settings.sync.credentialsFile;
  const file = given === null ? credentialsPathOf(home) : resolve(io.cwd, given);
  const { clientSecret, ...credentials } = readCredentials(file, ClientCredentials, advice);
  return new AdminClient({
    ...credentials,
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

/** Manifests that are ready to be read, with the folder for key values. */
export interface OpenedManifests {
  readonly secretsFolder: string;
  readonly openSinks: OpenSinks;
  readonly locations: readonly string[];
  /** The environment of them that counts; null for none. */
  readonly environment: string | null;
  /** What stands in them now; see `Source.newest`. */
  readonly newest: () => Promise<SourceVersion>;
  /** What is looked at of them. */
  readonly scope: WorkspaceScope;
  /** @throws Failure (invalid input) that lists every fault of the scope with its place */
  readonly read: () => Promise<DesiredSet>;
  /**
   * The part of them that is right.
   *
   * @throws Failure (invalid input) as `read` where no workspace of the scope is
   */
  readonly readSound: () => Promise<DesiredSet>;
  /** See `Source.descent`. */
  readonly descent: (earlier: string, commit: string) => Promise<Descent | undefined>;
}

/** @param onSize told how many bytes a source has, before they are gone through */
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
  // Opened when it is first asked for, and once: standard input can be read once only.
  let opened: Source | undefined;
  const open = (): Source => {
    opened ??= openSources(locations, sourceOptions);
    return opened;
  };
  return {
    secretsFolder,
    openSinks,
    locations,
    environment,
    scope,
    newest: async () => await open().newest(),
    read: async () => {
      const found = await open().read();
      onSize?.(found.files.reduce((sum, { content }) => sum + content.length, 0));
      const { set, faults } = await readDesired(found, sources, scope);
      if (set === undefined) throw faulty(faults);
      return set;
    },
    readSound: async () => soundPart(await readSource(await open().read(), sources), scope),
    descent: async (earlier, commit) => await open().descent?.(earlier, commit),
  };
}

/** Of what led here, what belongs to the command that goes on: see {@link applyCommand}. */
export interface GoOnOptions extends ManifestOptions {
  readonly 'take-ownership'?: boolean;
  readonly 'no-prune'?: boolean;
  readonly 'allow-deletes'?: number | undefined;
  readonly delete?: readonly Identity[];
  readonly 'even-if-suspended'?: boolean;
  readonly 'accept-history'?: boolean;
  /** Of an `apply`. */
  readonly atomic?: boolean;
  readonly yes?: boolean;
  readonly report?: string | undefined;
  readonly 'commit-status'?: boolean;
  readonly output?: string;
}

/**
 * Writes the command that goes on where this one stops, with the options in force and others that
 * release what was held back. What comes from standard input leaves nobody to ask.
 */
export function applyCommand(options: GoOnOptions, cwd: string): CommandLine {
  const { atomic = false, report, yes = false } = options;
  return goOn('apply', options, cwd, {
    atomic,
    yes: yes || locationsOf(options).includes('-'),
    ...(report === undefined ? {} : { report }),
    'commit-status': options['commit-status'] ?? false,
    ...(options.output === 'json' ? { output: 'json' } : {}),
  });
}

/** Writes the command that saves a plan of the same to `out`, as {@link applyCommand} does. */
export function planCommand(options: GoOnOptions, out: string, cwd: string): CommandLine {
  return goOn('plan', options, cwd, { out });
}

function goOn(
  verb: string,
  options: GoOnOptions,
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
    const told = all.length === 0 ? {} : { delete: all.join(',') };
    return shellLine(cwd, verb, locationsOf(options), { ...inForce, ...more, ...told });
  };
}

/** What `--workspace` says. */
export function scopeOf({ workspace }: Pick<ManifestOptions, 'workspace'>): WorkspaceScope {
  return workspace.length === 0 ? null : new Set(workspace);
}

/** The current folder where none is named. */
export function locationsOf({ paths }: Pick<ManifestOptions, 'paths'>): string[] {
  return paths.length === 0 ? ['.'] : [...paths];
}

/** What a run calls itself to another that waits for it: `apply on host-1 (process 12)`. */
export function holderName(command: string): string {
  return `${command} on ${hostname()} (process ${process.pid})`;
}
