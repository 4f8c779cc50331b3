/** Starts a Docker engine for the suites where one is installed and none runs, and removes all of its traces. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { spawnLeashed } from '../../src/embedded/leash.ts';

export interface OwnEngine extends AsyncDisposable {
  /** Value of `DOCKER_HOST`. */
  readonly address: string;
  /** Name of its containers' bridge. */
  readonly bridge: string;
}

/** Folder of the images, kept for the next run of this clone. */
const imagesOfClone = resolve(import.meta.dirname, '../../.cache/docker');
const startMsMax = 60_000;

/** The reason why this machine needs no engine of the suites or cannot have one; null if it can. */
export function whyNoOwnEngine(): string | null {
  if (process.platform !== 'linux') return 'this is no Linux';
  if (process.getuid!() !== 0) return 'only root can start one';
  for (const name of ['dockerd', 'docker', 'flock', 'ip', 'unshare']) {
    if (spawnSync('/bin/sh', ['-c', `command -v ${name}`]).status !== 0)
      return `there is no ${name}`;
  }
  return dropsForwarded() ? 'a firewall drops what containers send each other' : null;
}

/**
 * Starts an engine with mounts and processes in their own namespaces, without firewall rules. A pipe
 * ends it with this process, however that ends. `images` is the folder of its images, which one
 * engine uses at a time.
 *
 * @throws Error with the end of its output if it does not respond
 */
export async function startOwnEngine(images = imagesOfClone): Promise<OwnEngine> {
  mkdirSync(images, { recursive: true });
  // Short, because the path of a socket has at most 107 characters.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gatewright-docker-')));
  const bridge = `gw-${randomBytes(4).toString('hex')}`;
  const address = `unix://${folder}/socket`;
  const log = join(folder, 'log');
  const output = openSync(log, 'a');
  makeBridge(bridge);
  const engine = spawnLeashed(
    [
      'flock',
      '--nonblock',
      '--verbose',
      join(images, 'lock'),
      'unshare',
      '--mount',
      '--propagation',
      'private',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      'dockerd',
      '--data-root',
      images,
      '--exec-root',
      join(folder, 'run'),
      '--pidfile',
      join(folder, 'pid'),
      '--host',
      address,
      '--bridge',
      bridge,
      '--iptables=false',
      '--ip6tables=false',
      '--ip-forward=false',
      '--ip',
      '127.0.0.1',
      '--storage-driver',
      'overlay2',
    ],
    { cwd: folder, output },
  );
  closeSync(output);
  const own: OwnEngine = {
    address,
    bridge,
    [Symbol.asyncDispose]: async () => {
      engine.cut();
      await engine.exited;
      execFileSync('ip', ['link', 'delete', bridge]);
      rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
    },
  };
  let ended: string | null = null;
  void engine.exited.then((how) => {
    ended = how;
  });
  const giveUpAt = performance.now() + startMsMax;
  while (!(await answers(address))) {
    if (ended === null && performance.now() < giveUpAt) {
      await setTimeout(100);
      continue;
    }
    const stated = readFileSync(log, 'utf8').trim().split('\n').at(-1)!;
    await own[Symbol.asyncDispose]();
    throw new Error(`dockerd does not serve (${stated || ended || 'silence'})`);
  }
  return own;
}

/** Whether an engine responds at this address, or at the machine's usual one. */
export async function answers(address?: string): Promise<boolean> {
  const where = address === undefined ? [] : ['--host', address];
  try {
    await promisify(execFile)('docker', [...where, 'version'], { timeout: 30_000 });
    return true;
  } catch {
    return false;
  }
}

/** Uses an address range that is reserved for network tests. */
function makeBridge(name: string): void {
  execFileSync('ip', ['link', 'add', name, 'type', 'bridge']);
  execFileSync('ip', ['address', 'add', `198.19.${randomInt(128, 255)}.1/24`, 'dev', name]);
  execFileSync('ip', ['link', 'set', name, 'up']);
}

/** Restores values that an engine changes: IP forwarding, and bridges that call the firewall. */
function dropsForwarded(): boolean {
  try {
    const asks =
      readFileSync('/proc/sys/net/bridge/bridge-nf-call-iptables', 'utf8').trim() === '1';
    return (
      asks &&
      execFileSync('iptables', ['-S', 'FORWARD'], { encoding: 'utf8' }).includes('-P FORWARD DROP')
    );
  } catch {
    return false;
  }
}
