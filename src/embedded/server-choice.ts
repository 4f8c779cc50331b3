/** Chooses the database server of a home: an installed one, one unpacked earlier, or one downloaded now. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../failure.ts';
import { canOpen, type DataDirectoryMaker } from './data-directory.ts';
import { fetchDebianServer, hasDebianPackages } from './debian-packages.ts';
import {
  type DatabaseServerBinary,
  findInstalledServers,
  findUnpackedServer,
  installedServerDirectories,
} from './server-binary.ts';

const run = promisify(execFile);

export interface ServerChoiceOptions {
  /** Do not use the network. */
  readonly offline: boolean;
  /** Folders to search for installed servers; default: the PATH and the usual folders. */
  readonly searchPaths?: readonly string[];
  /** Called with one line for each step. */
  readonly progress: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** The folder of unpacked packages in a home. */
export function softwareDirectoryOf(home: string): string {
  return join(home, 'database-server');
}

/**
 * Chooses a server for data that `maker` initialised (null: any server).
 *
 * @throws Failure that names the package to install when none is available
 */
export async function chooseServer(
  softwareDirectory: string,
  maker: DataDirectoryMaker | null,
  options: ServerChoiceOptions,
): Promise<DatabaseServerBinary> {
  const fits = (binary: DatabaseServerBinary): boolean => maker === null || canOpen(binary, maker);
  const installed = await findInstalledServers(
    options.searchPaths ?? (await installedServerDirectories()),
  );
  const unpacked = await findUnpackedServer(softwareDirectory);
  const candidates = unpacked === null ? installed : [...installed, unpacked];
  const chosen = candidates.find(fits);
  if (chosen !== undefined) return chosen;
  if (options.offline || !hasDebianPackages() || maker?.flavour === 'mysql') {
    throw await missingServerFailure(maker, candidates, options.offline);
  }
  await fetchDebianServer(softwareDirectory, options);
  const fetched = await findUnpackedServer(softwareDirectory);
  if (fetched !== null && fits(fetched)) return fetched;
  throw await missingServerFailure(maker, fetched === null ? candidates : [fetched], false);
}

async function missingServerFailure(
  maker: DataDirectoryMaker | null,
  candidates: readonly DatabaseServerBinary[],
  offline: boolean,
): Promise<Failure> {
  const wanted = maker?.flavour === 'mysql' ? `MySQL ${maker.version}` : 'MariaDB 10.6';
  const found = candidates.map(({ serverPath, version }) => `${serverPath} (${version})`);
  const lines =
    maker === null
      ? ['no database server is installed (looked for mariadbd and mysqld)']
      : [
          `the data was made by ${nameOf(maker)}; no installed server can open it`,
          ...(found.length === 0 ? [] : [`found: ${found.join(', ')}`]),
        ];
  lines.push(
    `install ${maker?.flavour === 'mariadb' ? nameOf(maker) : wanted} or newer:`,
    ...installCommands(maker?.flavour ?? 'mariadb').map((command) => `  ${command}`),
  );
  if (offline && hasDebianPackages()) {
    lines.push('or leave --offline out: it is then fetched into the home, not installed');
  }
  if (maker === null && (await dockerAnswers())) {
    lines.push(
      'or run one in Docker, whose engine is running here:',
      '  docker run --detach --name gatewright-database --publish 127.0.0.1:3306:3306 \\',
      '    --env MARIADB_ROOT_PASSWORD="$DB_PASS" --env MARIADB_DATABASE=gatewright mariadb:10.11',
      '  then set DB_HOST=127.0.0.1 DB_USER=root DB_NAME=gatewright and the same DB_PASS',
    );
  }
  lines.push('or set DB_HOST, DB_USER, DB_PASS and DB_NAME to use a server of yours');
  return new Failure('invalidInput', lines.join('\n'));
}

function nameOf(maker: DataDirectoryMaker): string {
  return `${maker.flavour === 'mysql' ? 'MySQL' : 'MariaDB'} ${maker.version}`;
}

function installCommands(flavour: DataDirectoryMaker['flavour']): string[] {
  if (flavour === 'mysql') {
    return [
      'Debian, Ubuntu: apt-get install mysql-server-core',
      'Fedora, RHEL:   dnf install mysql-server',
      'macOS:          brew install mysql',
    ];
  }
  return [
    'Debian, Ubuntu: apt-get install mariadb-server-core mariadb-client-core',
    'Fedora, RHEL:   dnf install mariadb-server',
    'Alpine:         apk add mariadb mariadb-client',
    'macOS:          brew install mariadb',
  ];
}

async function dockerAnswers(): Promise<boolean> {
  return await run('docker', ['version', '--format', '{{.Server.Version}}'], {
    timeout: 3_000,
  }).then(
    () => true,
    () => false,
  );
}
