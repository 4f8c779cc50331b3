/** Puts a release under load during an action, and reports lost requests. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Cluster } from '../kit/cluster.ts';

export interface Target {
  /** Base address of the API without a host name: `http://198.18.130.1:80/v1`. */
  readonly url: string;
  /** Base address of inference, likewise. */
  readonly inferenceUrl: string;
  readonly key: string;
}

export interface LoadReport {
  readonly answered: number;
  /** Rejected by the API itself with a 503 that permits a retry. */
  readonly refused: number;
  /** One line for each request without the expected response. */
  readonly lost: readonly string[];
  /** Names of workspaces whose creation was acknowledged. */
  readonly made: readonly string[];
}

const script = join(import.meta.dirname, 'load-client.ts');
let rounds = 0;

/** Sends requests to each target during the action, and until at least 1,000 have succeeded. */
export async function underLoad(
  cluster: Cluster,
  targets: readonly Target[],
  act: () => Promise<unknown>,
): Promise<LoadReport[]> {
  await cluster.routesAreCurrent();
  // Stale connection tracking entries of deleted pods would swallow packets of new connections. Other entries
  // stay, because connections of servers to their database would break.
  for (const url of targets.flatMap((target) => [target.url, target.inferenceUrl])) {
    const words = ['conntrack', '-D', '--orig-dst', new URL(url).hostname];
    for (const node of cluster.nodes) await cluster.runOn(node, words);
  }
  rounds += 1;
  const clients = targets.map((target) => startClients(cluster, target, `load-${rounds}`));
  try {
    await act();
  } finally {
    for (const { end } of clients) end();
  }
  return await Promise.all(clients.map(({ report }) => report));
}

function startClients(cluster: Cluster, { url, inferenceUrl, key }: Target, name: string) {
  const [program, ...enter] = cluster.enter as [string, ...string[]];
  const words = ['--url', url, '--inference', inferenceUrl, '--key', key, '--name', name];
  const child = spawn(program, [...enter, process.execPath, script, ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const report = text(child.stdout).then((output) => JSON.parse(output) as LoadReport);
  return { end: () => child.stdin.end(), report };
}
