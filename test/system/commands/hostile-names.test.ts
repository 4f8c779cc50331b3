/** Tests that no external name reaches the terminal with control characters. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/database/database.ts';
import { runCli } from './run-cli.ts';

/** Clears the screen, returns, ends a string, begins a one-byte sequence, changes the direction. */
const hostile = 'a\u001b[2J\u001b]0;x\u0007b\rc\u007fd\u009b1me\u202ef\u2028g';
const forbidden = /(?!\n)\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]|\p{Cs}/u;
/** Its escaped form. */
const spelt = '\\u001b[2J';

let folder: string;
let server: Server;
let address: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-hostile-'));
  // Issues a token and refuses everything else with its own message.
  server = createServer((request, response) => {
    const isToken = request.url?.includes('token') === true;
    const refusal = { error: { message: hostile, code: hostile, param: hostile, type: hostile } };
    const token = { access_token: 'a.b.c', expires_in: 900, token_type: 'Bearer' };
    response.writeHead(isToken ? 200 : 403, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isToken ? token : refusal));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  write('good/w.yaml', 'apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: w}\n');
  write('credentials.json', credentials('secret'));
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

function write(path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

function credentials(clientId: string): string {
  return JSON.stringify({
    baseUrl: `${address}/v1`,
    adminBaseUrl: address,
    authUrl: address,
    clientId,
    tsgId: '1234567890',
    clientSecret: 's',
  });
}

/** Runs a command and returns its complete output. */
async function reported(
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const { stdout, stderr } = await runCli(words, null, { cwd: folder, env });
  return stdout + stderr;
}

describe('a hostile name', () => {
  const json = JSON.stringify(hostile);
  const sources: Record<string, () => void> = {
    'of a file': () => write(`s/of a file/${hostile}.yaml`, 'kind: [\n'),
    'of a resource': () =>
      write(
        's/of a resource/w.yaml',
        `apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: ${json}}\n`,
      ),
    'of a field': () =>
      write(
        's/of a field/w.yaml',
        `apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: w}\nspec: {${json}: 1}\n`,
      ),
    'of a kind': () =>
      write(
        's/of a kind/w.yaml',
        `apiVersion: gatewright.dev/v1\nkind: ${json}\nmetadata: {name: w}\n`,
      ),
    'of a reference': () =>
      write(
        's/of a reference/c.yaml',
        `apiVersion: gatewright.dev/v1\nkind: Config\nmetadata: {name: c, workspace: ${json}}\nspec: {config: {}}\n`,
      ),
  };

  /** The other settings are rejected by their form. */
  const repeated = ['of a file', 'of a field', 'of a kind'];

  it.each(Object.keys(sources))('%s is escaped by validate, plan and apply', async (place) => {
    sources[place]!();
    const at = ['--credentials', 'credentials.json'];
    for (const words of [
      ['validate', `s/${place}`],
      ['plan', `s/${place}`, ...at],
      ['apply', '--yes', `s/${place}`, ...at],
    ]) {
      const text = await reported(words);
      expect(text).not.toMatch(forbidden);
      if (repeated.includes(place)) expect(text).toContain(spelt);
      else expect(text).toMatch(/yaml:\d+:\d+ metadata\./);
    }
    const { stdout } = await runCli(['validate', '-o', 'json', `s/${place}`], null, {
      cwd: folder,
    });
    expect(stdout).not.toMatch(forbidden);
    expect(JSON.parse(stdout).faults).toHaveLength(1);
    if (repeated.includes(place)) expect(stdout).toContain(spelt);
  });

  it.each([
    ['a path', ['validate', hostile]],
    ['a Git ref', ['validate', `https://127.0.0.1:1/x.git#${hostile}`]],
    ['a host', ['validate', `https://${hostile}/x.git`]],
    ['a folder of credentials', ['plan', 'good', '--credentials', hostile]],
    ['a home', ['export', 'out', '--home', hostile]],
    [
      'an owner',
      ['apply', 'good', '--yes', '--credentials', 'credentials.json', '--owner', hostile],
    ],
    ['a source', ['up', '--source', hostile]],
    ['a job', ['jobs', 'run', hostile]],
    ['a home of a database', ['migrate', '--home', hostile]],
    ['a home of a deployment', ['doctor', '--home', hostile]],
  ] as const)('escapes control characters in %s', async (_, words) => {
    const text = await reported(words);
    expect(text).not.toBe('');
    expect(text).not.toMatch(forbidden);
  });

  it.each([
    ['DB_HOST'],
    ['DB_URL'],
    ['GATEWRIGHT_HOME'],
    ['GATEWRIGHT_OWNER'],
    ['GATEWRIGHT_CREDENTIALS'],
    ['TRUSTED_CUSTOM_HOSTS'],
    [`GATEWRIGHT_${hostile}`],
  ])('is escaped in the setting %j', async (setting) => {
    for (const words of [['settings'], ['plan', 'good'], ['settings', '-o', 'json']]) {
      expect(await reported(words, { [setting]: hostile })).not.toMatch(forbidden);
    }
  });

  it('is escaped in a server response', async () => {
    const at = ['--credentials', 'credentials.json'];
    for (const words of [
      ['plan', 'good', ...at],
      ['export', 'out', ...at],
    ]) {
      const text = await reported(words);
      expect(text).not.toMatch(forbidden);
      expect(text).toContain(spelt);
    }
  });

  it('escapes control characters in names of jobs, databases and log lines', async () => {
    await using test = await createTestDatabase();
    const run = await runCli(['jobs', 'run', hostile], test.settings);
    expect(run.stderr).not.toMatch(forbidden);
    expect(run.stderr).toContain(spelt);
    const missing = { ...test.settings, name: hostile };
    for (const words of [['migrate', '--status'], ['doctor'], ['serve', '--no-jobs']]) {
      const { stdout, stderr } = await runCli(words, missing, {
        env: { GATEWRIGHT_LOG_LEVEL: 'trace' },
      });
      expect(stdout + stderr).not.toMatch(forbidden);
    }
  });

  it('reaches a terminal escaped as well, when colours are on', () => {
    sources['of a file']!();
    const program = join(import.meta.dirname, '../../../src/main.ts');
    const line = `${process.execPath} ${program} validate 's/of a file'`;
    const { stdout } = spawnSync('script', ['-qec', line, '/dev/null'], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', TERM: 'xterm' },
    });
    expect(stdout).toContain(spelt);
    expect(stdout.replaceAll('\r\n', '\n')).not.toMatch(forbidden);
  });
});
