/** Runs the daemon in a process and collects its events. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import type { TestServer } from '../../support/server/server.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { canaries } from '../../support/sync/sync-setup.ts';

export type DaemonEvent = { readonly event: string } & ReturnType<typeof JSON.parse>;

export interface DaemonProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** All events so far. */
  readonly events: readonly DaemonEvent[];
  /** Resolves with the first matching event from index `from` on. */
  find(fits: (event: DaemonEvent) => boolean, from?: number): Promise<DaemonEvent>;
  /** Resolves with its exit code and standard error once it has ended. */
  readonly ended: Promise<{ exitCode: number | null; stderr: string }>;
}

/** Writes credentials for commands in `folder`, for the server at `url`. */
export function writeCredentials(folder: string, server: TestServer, url = server.url): void {
  const { tsgId, clientId, clientSecret } = server;
  const addresses = { baseUrl: `${url}/v1`, adminBaseUrl: url, authUrl: url };
  const document = JSON.stringify({ ...addresses, tsgId, clientId, clientSecret });
  writeFileSync(join(folder, 'credentials.json'), document);
}

/** Starts `gatewright sync … -o json` in `folder`, which contains its credentials. */
export function startDaemon(
  folder: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): DaemonProcess {
  const child = spawnTestProcess([inject('builtProgram'), 'sync', ...words, '-o', 'json'], {
    cwd: folder,
    env: { ...canaries, GATEWRIGHT_CREDENTIALS: 'credentials.json', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const events: DaemonEvent[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)));
  const exited = once(child, 'close');
  const stderr = text(child.stderr);
  const ended = exited.then(async ([exitCode]) => ({
    exitCode: exitCode as number | null,
    stderr: await stderr,
  }));
  return {
    child,
    events,
    ended,
    find: async (fits, from = 0) => {
      const found = (): DaemonEvent | undefined => events.slice(from).find(fits);
      let end: unknown = null;
      void ended.then((how) => {
        end = how;
      });
      await eventually(() => {
        if (found() === undefined && end === null) throw new Error('no such event yet');
      });
      const event = found();
      if (event !== undefined) return event;
      throw new Error(`it ended: ${JSON.stringify(end)}; ${JSON.stringify(events).slice(-2000)}`);
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
