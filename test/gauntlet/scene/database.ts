/** Provides the database of the gauntlet: an own server that can be killed, or a given one. */
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import {
  externalDatabaseServer,
  startTestDatabaseServer,
  type TestDatabaseServer,
} from '../../support/database/database-server.ts';
import { administer, createDatabaseOn } from '../../support/database/empty-database.ts';

/** The process of an own server. */
interface OwnServer {
  readonly pid: number;
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface GauntletDatabase extends AsyncDisposable {
  /** The user is one whose writes a read-only server refuses. */
  readonly settings: DatabaseSettings;
  readonly server: TestDatabaseServer;
  /** Null for a given server, whose process is not ours to stop. */
  readonly own: OwnServer | null;
}

/** Commits survive a kill of the server; torn pages are repaired. */
const durableFlags = ['--innodb-flush-log-at-trx-commit=1', '--innodb-doublewrite=ON'];

/** `option` is `mariadb` for an own server, or the address of another one. */
export async function openGauntletDatabase(option: string): Promise<GauntletDatabase> {
  await using stack = new AsyncDisposableStack();
  const own = option === 'mariadb' ? await startTestDatabaseServer(durableFlags) : null;
  if (own !== null) stack.defer(() => own.stop());
  const server = own?.server ?? externalDatabaseServer(option)!.server;
  const made = await createDatabaseOn(server);
  if (own === null) stack.use(made);
  const [user, password] = ['gauntlet', 'gauntlet'];
  const { name } = made.settings;
  const account = `CREATE USER IF NOT EXISTS '${user}'@'%' IDENTIFIED BY '${password}'`;
  await administer(server, `${account}; GRANT ALL ON ${name}.* TO '${user}'@'%'`);
  const release = stack.move();
  return {
    settings: { ...made.settings, user, password: new Secret(password, 'gauntlet') },
    server,
    own,
    [Symbol.asyncDispose]: () => release.disposeAsync(),
  };
}
