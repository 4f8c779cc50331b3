/** Knows how a release is put under load while something is done to it, and what was lost. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Cluster } from '../kit/cluster.ts';

export interface Target {
  /** Base of the API, without a name to resolve: `http://198.18.130.1:80/v1`. */
  readonly url: string;
  /** Base of inference, likewise. */
  readonly inferenceUrl: string;
  readonly key: string;
}

export interface Toll {
  readonly answered: number;
  /** By the API itself, with a 503 that asks to send it again. */
  readonly refused: number;
  /** One line for each request without its answer. */
  readonly lost: readonly string[];
  /** Names of workspaces whose making was acknowledged. */
  readonly made: readonly string[];
}

const script = join(import.meta.dirname, 'load-client.ts');
let rounds = 0;

/** Asks each target all the while, and until thousands were answered. */
export async function underLoad(
  cluster: Cluster,
  targets: readonly Target[],
  act: () => Promise<unknown>,
): Promise<Toll[]> {
  await cluster.routesAreCurrent();
  // What is left of connections to pods that are gone would swallow packets of new ones. Others stay,
  // such as those of a server to its database, which would break.
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
  return await Promise.all(clients.map(({ toll }) => toll));
}

function startClients(cluster: Cluster, { url, inferenceUrl, key }: Target, name: string) {
  const [program, ...enter] = cluster.enter as [string, ...string[]];
  const words = ['--url', url, '--inference', inferenceUrl, '--key', key, '--name', name];
  const child = spawn(program, [...enter, process.execPath, script, ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const toll = text(child.stdout).then((told) => JSON.parse(told) as Toll);
  return { end: () => child.stdin.end(), toll };
}
