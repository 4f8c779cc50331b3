/** Starts Debian's registry of images and charts on a loopback port for tests. */
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { spawnLeashed } from '../../src/embedded/leash.ts';
import { unpackDebianPackages } from '../support/git/debian-packages.ts';

const unpacked = resolve(import.meta.dirname, '../../.cache/registry');

export interface OciRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT`, without TLS. */
  readonly address: string;
}

/** The reason why no registry is available here; null if one is. */
export function missingRegistry(): string | null {
  try {
    if (!existsSync(unpacked)) unpackDebianPackages(['docker-registry'], unpacked);
    return null;
  } catch (error) {
    return `no registry can be had (${(error as Error).message.split('\n', 1)[0]})`;
  }
}

export async function startRegistry(): Promise<OciRegistry> {
  const home = mkdtempSync(join(tmpdir(), 'gatewright-registry-'));
  const config = {
    version: '0.1',
    log: { level: 'info', formatter: 'json' },
    storage: { filesystem: { rootdirectory: join(home, 'store') } },
    http: { addr: '127.0.0.1:0', secret: 'of a test' },
  };
  writeFileSync(join(home, 'config.yml'), JSON.stringify(config));
  const log = join(home, 'registry.log');
  const output = openSync(log, 'a');
  const program = join(unpacked, 'usr/bin/docker-registry');
  const server = spawnLeashed([program, 'serve', 'config.yml'], { cwd: home, output });
  closeSync(output);
  const ended = server.exited.then((how) => {
    throw new Error(`the registry ended (${how}): ${readFileSync(log, 'utf8')}`);
  });
  for (;;) {
    const [, address] = /listening on ([\d.:]+)"/.exec(readFileSync(log, 'utf8')) ?? [];
    if (address !== undefined) {
      void ended.catch(() => undefined);
      return {
        address,
        [Symbol.asyncDispose]: async () => {
          server.cut();
          await server.exited;
          rmSync(home, { recursive: true, force: true });
        },
      };
    }
    await Promise.race([setTimeout(20), ended]);
  }
}
