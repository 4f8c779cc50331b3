/** Starts a database server in a container, with TLS, removed at the end of the run. */
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import {
  GenericContainer,
  getContainerRuntimeClient,
  type StartedNetwork,
  type StartedTestContainer,
  Wait,
} from 'testcontainers';
import { type Authority, createPki } from '../support/callers/pki.ts';
import type { TestDatabaseServer } from '../support/database/database-server.ts';
import { administer } from '../support/database/empty-database.ts';
import { isRunning } from '../support/server/process.ts';
import { mariadbImage, missingImage, mysqlImage } from './images.ts';

export const makes = ['mariadb', 'mysql'] as const;
export type Make = (typeof makes)[number];

export interface DatabaseContainer extends AsyncDisposable {
  readonly container: StartedTestContainer;
  /** Connection of a user on the host with all rights. */
  readonly server: TestDatabaseServer;
  /** PEM of the certificate authority of the server's names: `localhost`, and its engine name in `network`. */
  readonly authority: string;
}

const images = { mariadb: mariadbImage, mysql: mysqlImage };
/** Disables durability, because the data is discarded with the run. */
const fastFlags = [
  '--max-connections=500',
  '--back-log=1000',
  '--innodb-buffer-pool-size=128M',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-doublewrite=OFF',
  '--skip-log-bin',
  '--performance-schema=OFF',
  '--skip-name-resolve',
];
// testcontainers' cleanup image is not available everywhere; the next run cleans up by label.
process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';

/** The reason why no such server is available here; null if one is: its image exists, and this machine can connect to its containers. */
export async function missingDatabase(make: Make): Promise<string | null> {
  const noImage = await missingImage(images[make]);
  if (noImage !== null) return noImage;
  try {
    await using database = await startDatabase(make);
    await administer(database.server, 'SELECT 1');
    return null;
  } catch (error) {
    return `no container of ${make} can be reached on 127.0.0.1 (${(error as Error).message})`;
  }
}

export async function startDatabase(
  make: Make,
  network?: StartedNetwork,
): Promise<DatabaseContainer> {
  await removeAbandoned();
  using pki = createPki();
  const authority = pki.authority('house');
  const password = randomBytes(18).toString('base64url');
  let container = markOwner(new GenericContainer(await images[make]()))
    .withEnvironment({ MARIADB_ROOT_PASSWORD: password, MYSQL_ROOT_PASSWORD: password })
    .withTmpFs({ '/var/lib/mysql': 'rw,uid=999,gid=999,size=3g' })
    .withCopyContentToContainer(certificates(authority, make))
    .withCommand([
      ...fastFlags,
      ...['ca', 'cert', 'key'].map((part) => `--ssl-${part}=/etc/${part}.pem`),
    ])
    .withExposedPorts(3306)
    .withWaitStrategy(Wait.forLogMessage(/ready for connections/))
    .withStartupTimeout(300_000);
  if (network !== undefined) container = container.withNetwork(network).withNetworkAliases(make);
  const started = await container.start();
  const server = {
    host: '127.0.0.1',
    port: started.getMappedPort(3306),
    user: 'root',
    password,
  } as const;
  await answers(server);
  return {
    container: started,
    server,
    authority: authority.cert,
    [Symbol.asyncDispose]: async () => {
      await started.stop({ timeout: 0 });
    },
  };
}

const ownerLabel = 'gatewright-test-pid';

/** Label of this run's containers, by which a later run recognises those of a killed run. */
export function markOwner(container: GenericContainer): GenericContainer {
  return container.withLabels({ [ownerLabel]: String(process.pid) });
}

/** Removes containers of killed runs. */
export async function removeAbandoned(): Promise<void> {
  const { container: engine } = await getContainerRuntimeClient();
  for (const { Id, Labels } of await engine.list()) {
    const pid = Labels[ownerLabel];
    if (pid === undefined || isRunning(Number(pid))) continue;
    await engine.getById(Id).remove({ force: true, v: true });
  }
}

function certificates(authority: Authority, name: string) {
  const issued = authority.issue({ name, altNames: `DNS:localhost,DNS:${name}` });
  return [
    { content: authority.cert, target: '/etc/ca.pem', mode: 0o644 },
    { content: issued.cert, target: '/etc/cert.pem', mode: 0o644 },
    { content: issued.key, target: '/etc/key.pem', mode: 0o644 },
  ];
}

/** Waits for the second start: an official image serves only itself during its set-up. */
async function answers(server: TestDatabaseServer): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await administer(server, 'SELECT 1');
      return;
    } catch (error) {
      if (tries === 600) throw error;
      await setTimeout(200);
    }
  }
}
