/** Starts a Galera cluster for tests: three nodes in containers, each of which can be killed and restarted. */
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { GenericContainer, getContainerRuntimeClient, Network, Wait } from 'testcontainers';
import { markOwner, removeAbandoned } from '../containers/database-container.ts';
import { galeraImage, missingImage } from '../containers/images.ts';
import { findFreePort, type TestDatabaseServer } from '../support/database/database-server.ts';

/** Plain data, because it is serialised to the test workers. */
export interface GaleraNode {
  /** Connection of a user on the host with all rights; the same after a restart. */
  readonly server: TestDatabaseServer;
  readonly containerId: string;
}

export interface GaleraCluster extends AsyncDisposable {
  readonly nodes: readonly GaleraNode[];
}

const names = ['node-1', 'node-2', 'node-3'];
const triesMax = 1200;
const pollMs = 250;

/** The reason why no nodes are available here; null if they are. */
export function missingGalera(): Promise<string | null> {
  return missingImage(galeraImage);
}

export async function startGalera(): Promise<GaleraCluster> {
  await removeAbandoned();
  const password = randomBytes(18).toString('hex');
  const image = await galeraImage();
  const network = await new Network().start();
  const stack = new AsyncDisposableStack();
  stack.defer(async () => {
    await network.stop();
  });
  try {
    const nodes: GaleraNode[] = [];
    for (const [at, name] of names.entries()) {
      const port = await findFreePort();
      const container = await markOwner(new GenericContainer(image))
        .withEnvironment({
          NAME: name,
          NODES: names.join(','),
          MARIADB_ROOT_PASSWORD: password,
          ...(at === 0 && { FIRST: '1' }),
        })
        .withHostname(name)
        .withNetwork(network)
        .withNetworkAliases(name)
        .withCommand(['--max-connections=500', '--back-log=1000', '--innodb-buffer-pool-size=64M'])
        .withExposedPorts({ container: 3306, host: port })
        .withWaitStrategy(Wait.forLogMessage(/ready for connections/))
        .withStartupTimeout(600_000)
        .start();
      stack.defer(async () => {
        await container.stop({ timeout: 0 });
      });
      const server = { host: '127.0.0.1', port, user: 'root', password } as const;
      await inStep(server, at + 1);
      nodes.push({ server, containerId: container.getId() });
    }
    return { nodes, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Kills a node, and resolves once it is gone. */
export async function killNode({ containerId }: GaleraNode): Promise<void> {
  const { container: engine } = await getContainerRuntimeClient();
  const container = engine.getById(containerId);
  await container.kill({ signal: 'SIGKILL' });
  await container.wait();
}

/** Restarts a node, and resolves once it is one of three in sync. */
export async function restartNode({ containerId, server }: GaleraNode): Promise<void> {
  const { container: engine } = await getContainerRuntimeClient();
  await engine.getById(containerId).start();
  await inStep(server, names.length);
}

/** Waits until the node itself reports that it is in sync, in a cluster of that size. */
async function inStep(server: TestDatabaseServer, size: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const reported = await stateOf(server).catch((error: Error) => error.message);
    if (reported === `Synced in ${size}`) return;
    if (tries === triesMax) throw new Error(`the node is not in step: ${reported}`);
    await setTimeout(pollMs);
  }
}

async function stateOf({ host, port, user, password }: TestDatabaseServer): Promise<string> {
  const connection = await createConnection({ host, port, user, password });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      `SHOW STATUS WHERE Variable_name IN ('wsrep_local_state_comment', 'wsrep_cluster_size')`,
    );
    const value = new Map(rows.map(({ Variable_name, Value }) => [Variable_name, Value]));
    return `${value.get('wsrep_local_state_comment')} in ${value.get('wsrep_cluster_size')}`;
  } finally {
    await connection.end();
  }
}
