/** Starts the database servers that the gauntlet knows by name, each as what this machine can have. */
import { getContainerRuntimeClient } from 'testcontainers';
import { missingDatabase } from '../../containers/database-container.ts';
import { answers, startOwnEngine, whyNoOwnEngine } from '../../containers/own-engine.ts';
import {
  type GaleraNode,
  killNode,
  missingGalera,
  restartNode,
  startGalera,
} from '../../engines/galera-cluster.ts';
import { findOrFetchMysql } from '../../engines/mysql-program.ts';
import { startVitess } from '../../engines/vitess-cluster.ts';
import { missingVitess } from '../../engines/vitess-program.ts';
import {
  startTestDatabaseServer,
  type TestDatabaseServer,
} from '../../support/database/database-server.ts';
import type { OwnServer } from './database.ts';

interface Engine extends AsyncDisposable {
  readonly server: TestDatabaseServer;
  /** Null for an engine whose parts cannot be stopped one by one. */
  readonly own: OwnServer | null;
}

/** Commits survive a kill of the server; torn pages are repaired. */
const durableFlags = ['--innodb-flush-log-at-trx-commit=1', '--innodb-doublewrite=ON'];

const engines: Readonly<Record<string, () => Promise<Engine>>> = {
  mariadb: () => startProcess(null),
  mysql: async () => startProcess(await findOrFetchMysql()),
  galera: openGalera,
  vitess: openVitess,
};

export const engineNames = Object.keys(engines);

/** An engine that this machine cannot have; the message names what is missing. */
export class EngineMissing extends Error {
  override name = 'EngineMissing';
}

/** @throws EngineMissing */
export async function openEngine(name: string): Promise<Engine> {
  try {
    return await engines[name]!();
  } catch (error) {
    const { message } = error as Error;
    throw new EngineMissing(`--database ${name} is not available here: ${message}`, {
      cause: error,
    });
  }
}

async function startProcess(
  binary: Parameters<typeof startTestDatabaseServer>[2],
): Promise<Engine> {
  const started = await startTestDatabaseServer(durableFlags, undefined, binary ?? null);
  return {
    server: started.server,
    own: {
      kill: started.kill,
      start: started.start,
      freeze: async () => void process.kill(started.pid, 'SIGSTOP'),
      thaw: async () => void process.kill(started.pid, 'SIGCONT'),
    },
    [Symbol.asyncDispose]: started.stop,
  };
}

/** Three nodes, the first of which everything uses, as docs/guides/database.md demands. */
async function openGalera(): Promise<Engine> {
  await using stack = new AsyncDisposableStack();
  await requireDocker(stack);
  requirePresent(await missingGalera());
  const { nodes } = stack.use(await startGalera());
  const [node] = nodes as readonly [GaleraNode, ...GaleraNode[]];
  const release = stack.move();
  return {
    server: node.server,
    own: {
      kill: () => killNode(node),
      start: () => restartNode(node),
      freeze: async () => (await containerOf(node)).pause(),
      thaw: async () => (await containerOf(node)).unpause(),
    },
    [Symbol.asyncDispose]: () => release.disposeAsync(),
  };
}

/** Two shards on a MySQL in a container, or on that of TEST_DATABASE_URL. */
async function openVitess(): Promise<Engine> {
  await using stack = new AsyncDisposableStack();
  if (!process.env.TEST_DATABASE_URL) {
    await requireDocker(stack);
    requirePresent(await missingDatabase('mysql'));
  }
  requirePresent(await missingVitess());
  const { server } = stack.use(await startVitess());
  const release = stack.move();
  return { server, own: null, [Symbol.asyncDispose]: () => release.disposeAsync() };
}

/** Starts a Docker engine where one is installed and none runs. */
async function requireDocker(stack: AsyncDisposableStack): Promise<void> {
  if (process.env.DOCKER_HOST !== undefined || (await answers())) return;
  const why = whyNoOwnEngine();
  if (why !== null) throw new Error(`no Docker engine responds, and none can be started (${why})`);
  const { address } = stack.use(await startOwnEngine());
  process.env.DOCKER_HOST = address;
}

function requirePresent(missing: string | null): void {
  if (missing !== null) throw new Error(missing);
}

async function containerOf({ containerId }: GaleraNode) {
  const { container } = await getContainerRuntimeClient();
  return container.getById(containerId);
}
