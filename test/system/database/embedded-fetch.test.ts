/** Tests that a machine without a database server gets one in its home, and is not changed otherwise. */
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { startEmbeddedDatabase } from '../../../src/embedded/embedded-database.ts';
import { createTestHome } from '../../support/server/home.ts';

const machineFiles = ['/var/lib/dpkg/status', '/var/lib/apt/lists', '/var/cache/apt/archives'];

function stateOfMachine(): string[] {
  return machineFiles.map((path) => {
    const { mtimeMs, size } = statSync(path);
    const entries = statSync(path).isDirectory() ? readdirSync(path) : [readFileSync(path, 'utf8')];
    return `${path} ${mtimeMs} ${size} ${entries.join('\n').length}`;
  });
}

it('downloads a server from Debian, runs it, and needs no network the second time', async () => {
  using parent = createTestHome();
  const home = join(parent.path, `My Projects\\n;a:b=c\nd'"`);
  const before = stateOfMachine();
  const lines: string[] = [];
  const options = { searchPaths: [], progress: (line: string) => void lines.push(line) };
  const first = await startEmbeddedDatabase(home, { ...options, offline: false });
  await first.stop();
  expect(lines.join('\n')).toMatch(/downloading[\s\S]*unpacking[\s\S]*initialising[\s\S]*starting/);
  expect(stateOfMachine()).toEqual(before);
  expect(readdirSync(home).sort()).toEqual(['database', 'database-server', 'database.log']);
  const second = await startEmbeddedDatabase(home, { ...options, offline: true });
  await second.stop();
});

it('ends soon with the reason and progress output when the package servers do not answer', async () => {
  using parent = createTestHome();
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  vi.stubEnv('http_proxy', `http://127.0.0.1:${port}`);
  const lines: string[] = [];
  const start = startEmbeddedDatabase(join(parent.path, 'home'), {
    searchPaths: [],
    progress: (line) => void lines.push(line),
    offline: false,
  });
  await expect(start).rejects.toMatchObject({
    kind: 'unreachable',
    message: expect.stringMatching(
      /fetching one .* failed:\n.*no data from the package servers for 20 s\ninstall it yourself/,
    ),
  });
  expect(lines).toContainEqual(
    expect.stringMatching(/still reading the package lists, \d+ s so far/),
  );
  expect(readdirSync(join(parent.path, 'home'))).toEqual([]);
  vi.unstubAllEnvs();
  silent.close();
});
