/** Starts the measured gateways, each pinned to its own processor: ours, the open-source one and a bare proxy. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '../../test/support/database/database-server.ts';
import { firstLine } from '../product.ts';

const builtMain = resolve(import.meta.dirname, '../../dist/main.js');
const peerMain = resolve(
  import.meta.dirname,
  '../../node_modules/@portkey-ai/gateway/build/start-server.js',
);
/** Load generator, upstream and database share the other processor. */
const gatewayProcessor = '1';
const otherProcessor = '0';
const hasProcessors = availableParallelism() > 1;

/** A running process that serves chat completions. */
export interface Contestant {
  readonly url: string;
  readonly pid: number;
  readonly process: ChildProcess;
}

/** Moves this process, and processes that it starts later, off the gateways' processor. */
export function keepOffGateways(): Disposable {
  const move = (processors: string): void => {
    if (!hasProcessors) return;
    const { status, stderr } = spawnSync('taskset', ['-acp', processors, String(process.pid)]);
    if (status !== 0) throw new Error(`taskset: ${stderr}`);
  };
  move(otherProcessor);
  return { [Symbol.dispose]: () => move(`${otherProcessor},${gatewayProcessor}`) };
}

export async function startStub(): Promise<Contestant> {
  return announced([process.execPath, resolve(import.meta.dirname, 'stub-upstream.ts')]);
}

/** Starts a proxy without any other function. */
export async function startBare(upstream: string): Promise<Contestant> {
  const file = resolve(import.meta.dirname, 'bare-proxy.ts');
  return announced(pinned([process.execPath, file, upstream]));
}

/** Starts the built gateway component alone. `main` selects another build. */
export async function startOurs(
  env: Readonly<Record<string, string>>,
  main = builtMain,
): Promise<Contestant> {
  const words = ['serve', '--components', 'gateway', '--inference-port', '0'];
  const [command, ...rest] = pinned([process.execPath, main, ...words, '--metrics-port', '0']);
  const child = spawn(command!, rest, {
    env: { ...env, GATEWRIGHT_LOG_LEVEL: 'info' },
    cwd: tmpdir(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const url = await firstLine(child, child.stderr!, (line) => {
    const { inferenceUrl } = JSON.parse(line) as { inferenceUrl?: string };
    return inferenceUrl;
  });
  return { url, pid: child.pid!, process: child };
}

/** Starts the open-source gateway. Its start message is meant for people, so readiness is polled. */
export async function startPeer(): Promise<Contestant> {
  const port = await findFreePort();
  const words = [process.execPath, peerMain, '--headless', `--port=${port}`];
  const [command, ...rest] = pinned(words);
  const child = spawn(command!, rest, {
    cwd: dirname(peerMain),
    env: { PATH: process.env.PATH!, NODE_ENV: 'production' },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const answers = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (answers) return { url, pid: child.pid!, process: child };
    if (child.exitCode !== null) throw new Error(`the other gateway exited with ${child.exitCode}`);
    await delay(50);
  }
}

/** Stops a process. `SIGTERM` lets it write profiles before it exits. */
export async function stop(
  { process: child }: Contestant,
  endsBy: 'SIGKILL' | 'SIGTERM' = 'SIGKILL',
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child.removeAllListeners('exit'), 'exit');
  child.kill(endsBy);
  await ended;
}

export function pinned(words: readonly string[]): readonly string[] {
  return hasProcessors ? ['taskset', '-c', gatewayProcessor, ...words] : words;
}

/** Starts a process that prints its URL as its first line. */
export async function announced([command, ...words]: readonly string[]): Promise<Contestant> {
  const child = spawn(command!, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await firstLine(child, child.stdout!, (line) => line);
  return { url, pid: child.pid!, process: child };
}
