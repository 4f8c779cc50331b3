/** Provides the database of the gauntlet: an own server that can be killed, or a given one. */
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import {
  externalDatabaseServer,
  type TestDatabaseServer,
} from '../../support/database/database-server.ts';
import { administer, createDatabaseOn } from '../../support/database/empty-database.ts';
import { openEngine } from './engines.ts';

/** A server of the gauntlet's own. */
export interface OwnServer {
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops it like SIGSTOP. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface GauntletDatabase extends AsyncDisposable {
  /** The user is one whose writes a read-only server refuses. */
  readonly settings: DatabaseSettings;
  readonly server: TestDatabaseServer;
  /** Null for a given server, which is not ours to stop. */
  readonly own: OwnServer | null;
  /** Whether tables may get columns that the database does not know from elsewhere. */
  readonly isExtensible: boolean;
}

interface OpenedServer extends AsyncDisposable {
  readonly server: TestDatabaseServer;
  readonly own: OwnServer | null;
}

/** `option` is the name of an engine, or the address of a server. @throws EngineMissing */
export async function openGauntletDatabase(option: string): Promise<GauntletDatabase> {
  await using stack = new AsyncDisposableStack();
  const { server, own } = stack.use(await openServer(option));
  const made = await createDatabaseOn(server);
  if (own === null) stack.use(made);
  const isSharded = server.keyspaces !== undefined;
  const settings = isSharded ? made.settings : await addUser(server, made.settings);
  const release = stack.move();
  return {
    settings,
    server,
    own,
    isExtensible: !isSharded,
    [Symbol.asyncDispose]: () => release.disposeAsync(),
  };
}

async function openServer(option: string): Promise<OpenedServer> {
  if (URL.canParse(option)) {
    const { server, stop } = externalDatabaseServer(option)!;
    return { server, own: null, [Symbol.asyncDispose]: stop };
  }
  return openEngine(option);
}

async function addUser(
  server: TestDatabaseServer,
  settings: DatabaseSettings,
): Promise<DatabaseSettings> {
  const [user, password] = ['gauntlet', 'gauntlet'];
  const account = `CREATE USER IF NOT EXISTS '${user}'@'%' IDENTIFIED BY '${password}'`;
  await administer(server, `${account}; GRANT ALL ON ${settings.name}.* TO '${user}'@'%'`);
  return { ...settings, user, password: new Secret(password, 'gauntlet') };
}
