/** Tests `gatewright serve`: it starts only with valid settings and schema, reports its addresses, and stops cleanly. */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { makeApiKey } from '../../../src/model/people/credentials.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { createEmptyDatabase, createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseLink } from '../../support/database/database-link.ts';
import { databaseVariables } from '../../support/database/database-variables.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { loadedIn, runCli, sourceProgram, tellingLoads } from '../commands/run-cli.ts';

const masterKey = randomBytes(32).toString('base64');
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface ServeProcess {
  readonly child: ChildProcess;
  readonly adminUrl: string;
  readonly metricsUrl: string;
  readonly lines: string[];
  readonly exit: Promise<[number | null, NodeJS.Signals | null]>;
}

/** Resolves once the process reports that it listens. */
async function serve(
  database: DatabaseSettings,
  words: string[] = [],
  env: Record<string, string> = {},
  program = inject('builtProgram'),
): Promise<ServeProcess> {
  const child = spawnTestProcess(
    [program, 'serve', '--port', '0', '--metrics-port', '0', ...words],
    {
      cwd: tmpdir(),
      env: {
        ...databaseVariables(database),
        GATEWRIGHT_MASTER_KEY: masterKey,
        GATEWRIGHT_LAME_DUCK_SECONDS: '0',
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  children.push(child);
  const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const lines: string[] = [];
  const listening = new Promise<Record<string, string>>((found, failed) => {
    createInterface({ input: child.stderr! })
      .on('line', (line) => {
        lines.push(line);
        if (line.includes('"adminUrl"')) found(JSON.parse(line));
      })
      .on('close', () => failed(new Error(`it ended: ${lines.join('\n')}`)));
  });
  const { adminUrl, metricsUrl } = await listening;
  return { child, adminUrl: adminUrl!, metricsUrl: metricsUrl!, lines, exit };
}

function messages(served: ServeProcess): string[] {
  return served.lines.map((line) => JSON.parse(line).msg);
}

function dial(served: ServeProcess): Socket {
  return connect(Number(new URL(served.adminUrl).port), '127.0.0.1').on('error', () => {});
}

/** A keep-alive connection that has received a response. */
async function dialIdle(served: ServeProcess): Promise<Socket> {
  const idle = dial(served);
  idle.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(String((await once(idle, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 .*keep-alive/is);
  return idle.resume();
}

const probe = (url: string) => exchange('GET', url, undefined, {});

describe('gatewright serve', () => {
  it.each([[[]], [['--migrate']]])(
    'loads nothing that only migrating needs on a current schema: %j',
    async (words) => {
      await using test = await createTestDatabase();
      const served = await serve(test.settings, words, tellingLoads, sourceProgram);
      served.child.kill('SIGTERM');
      await served.exit;
      const loaded = loadedIn(served.lines.join('\n'));
      expect(loaded.some((url) => url.includes('/node_modules/mysql2/'))).toBe(true);
      expect(loaded.filter((url) => /node_modules\/(umzug|@rushstack)\//.test(url))).toEqual([]);
    },
  );

  it('serves both ports, in JSON lines only, until SIGTERM, and then ends with 0', async () => {
    await using test = await createTestDatabase();
    const served = await serve(test.settings);
    expect((await probe(`${served.adminUrl}/readyz`)).status).toBe(200);
    expect((await probe(`${served.metricsUrl}/metrics`)).status).toBe(200);
    served.child.kill('SIGTERM');
    expect(await served.exit).toEqual([0, null]);
    expect(messages(served)).toEqual(expect.arrayContaining(['listening', 'stopping', 'stopped']));
    expect(served.lines.join('\n')).not.toContain(masterKey);
  });

  it('reports not ready while it still serves after a stop signal', async () => {
    await using test = await createTestDatabase();
    const served = await serve(test.settings, [], { GATEWRIGHT_LAME_DUCK_SECONDS: '3600' });
    const idle = await dialIdle(served);
    served.child.kill('SIGTERM');
    await expect.poll(() => messages(served)).toContain('stopping');
    for (const url of [served.adminUrl, served.metricsUrl]) {
      const ready = await probe(`${url}/readyz`);
      expect([ready.status, ready.body.reasons]).toEqual([503, ['the process is stopping']]);
    }
    const answer = await probe(`${served.adminUrl}/openapi.json`);
    expect([answer.status, answer.headers.connection]).toEqual([200, 'close']);
    expect(idle.destroyed).toBe(false);
    idle.destroy();
  });

  it('closes idle connections after the drain time, and ends', async () => {
    await using test = await createTestDatabase();
    const served = await serve(test.settings, [], { GATEWRIGHT_LAME_DUCK_SECONDS: '1' });
    const idle = await dialIdle(served);
    const idleClosed = once(idle, 'close');
    served.child.kill('SIGTERM');
    await idleClosed;
    expect(await served.exit).toEqual([0, null]);
  });

  it('stops in spite of slow senders and stalled readers', async () => {
    await using test = await createTestDatabase();
    const served = await serve(test.settings, [], { GATEWRIGHT_SHUTDOWN_DRAIN_SECONDS: '3600' });
    const slow = dial(served).resume();
    slow.write('POST /oauth2/access_token HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    const drip = setInterval(() => slow.write('x'), 50);
    const stalled = dial(served).pause();
    stalled.write('GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
    await probe(`${served.adminUrl}/livez`);
    served.child.kill('SIGTERM');
    expect(await served.exit).toEqual([0, null]);
    clearInterval(drip);
    stalled.destroy();
  });

  it('ends at once after a second stop signal', async () => {
    await using test = await createTestDatabase();
    const served = await serve(test.settings, [], { GATEWRIGHT_LAME_DUCK_SECONDS: '3600' });
    const again = setInterval(() => served.child.kill('SIGTERM'), 100);
    expect(await served.exit).toEqual([143, null]);
    clearInterval(again);
    expect(messages(served)).not.toContain('stopped');
  });

  it('rejects an outdated database, unless it is configured to migrate', async () => {
    await using empty = await createEmptyDatabase();
    const refused = await runCli(['serve', '--port', '0'], empty.settings, {
      env: { GATEWRIGHT_MASTER_KEY: masterKey },
    });
    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('gatewright migrate');
    const served = await serve(empty.settings, ['--migrate', '--no-jobs']);
    expect((await probe(`${served.adminUrl}/readyz`)).status).toBe(200);
  });

  it('rejects a master key other than that of the database', async () => {
    await using test = await createTestDatabase();
    const served = await serve(test.settings);
    served.child.kill('SIGTERM');
    await served.exit;
    const other = randomBytes(32).toString('base64');
    const refused = await runCli(['serve', '--port', '0'], test.settings, {
      env: { GATEWRIGHT_MASTER_KEY: other },
    });
    expect([refused.exitCode, refused.stdout]).toEqual([4, '']);
    expect(refused.stderr).toContain(
      'The data keys of this database are encrypted with master key',
    );
    expect(refused.stderr).not.toContain(other);
  });

  it('explains how to create a master key when there is none', async () => {
    await using test = await createTestDatabase();
    const refused = await runCli(['serve'], test.settings);
    expect(refused.exitCode).toBe(5);
    expect(refused.stderr).toContain('openssl rand -base64 32');
  });

  it('names the settings when there is no database', async () => {
    const refused = await runCli(['serve'], null, { env: { GATEWRIGHT_MASTER_KEY: masterKey } });
    expect(refused.exitCode).toBe(5);
    expect(refused.stderr).toContain('DB_HOST');
  });

  it('exits with 6 and a message when the database does not respond in time', async () => {
    await using test = await createTestDatabase();
    const refused = await runCli(
      ['serve', '--port', '0', '--metrics-port', '0'],
      { ...test.settings, port: 1 },
      {
        env: {
          GATEWRIGHT_MASTER_KEY: masterKey,
          GATEWRIGHT_HOST: '127.0.0.1',
          GATEWRIGHT_DB_START_WAIT_SECONDS: '1',
        },
      },
    );
    expect(refused.exitCode).toBe(6);
    expect(refused.stderr).toMatch(/nothing listens there; start it or correct DB_HOST/);
    expect(refused.stderr).not.toMatch(/\n\s+at /);
  });

  it('waits for its database, alive and not ready, and serves nothing until it has verified it', async () => {
    await using test = await createEmptyDatabase();
    await using link = await startDatabaseLink();
    const settings = await link.lead(test.settings);
    link.cut();
    const served = await serve(settings, ['--migrate']);
    const statusOf = async (path: string) => (await probe(served.adminUrl + path)).status;
    expect(await statusOf('/livez')).toBe(200);
    expect(await statusOf('/startupz')).toBe(503);
    const ready = await probe(`${served.metricsUrl}/readyz`);
    expect([ready.status, ready.body.reasons]).toEqual([503, ['the database is still waited for']]);
    const stated = served.lines.map((line) => JSON.parse(line));
    const { inferenceUrl } = stated.find(({ msg }) => msg === 'listening');
    const headers = { 'x-gateway-api-key': makeApiKey('') };
    for (const url of [`${served.adminUrl}/v1/workspaces`, `${inferenceUrl}/v1/models`]) {
      const call = await exchange('GET', url, undefined, headers);
      expect([url, call.status, call.headers['retry-after']]).toEqual([url, 503, '1']);
    }
    expect(stated).toContainEqual(
      expect.objectContaining({
        msg: 'waiting for the database',
        reason: expect.stringContaining(`Cannot use the database at 127.0.0.1:${settings.port}`),
        secondsMax: 240,
      }),
    );
    link.mend();
    await eventually(async () => expect(await statusOf('/readyz')).toBe(200));
    served.child.kill('SIGTERM');
    expect(await served.exit).toEqual([0, null]);
  });

  it('ends at once when stopped while it waits for its database', async () => {
    await using test = await createEmptyDatabase();
    const settings = { ...test.settings, port: 1 };
    const served = await serve(settings, [], { GATEWRIGHT_LAME_DUCK_SECONDS: '3600' });
    served.child.kill('SIGTERM');
    expect(await served.exit).toEqual([143, null]);
  });

  it.each([
    [{ DB_PASS: 'wrong' }, /user tester is not let in; check DB_USER and DB_PASS/],
    [{ DB_SSL: 'VERIFY_CA' }, /offers no TLS, which DB_SSL=VERIFY_CA demands|not vouched for/],
  ])('does not wait when the database refuses: %o', async (env, reason) => {
    await using test = await createEmptyDatabase();
    await expect(serve(test.settings, [], env)).rejects.toThrow(reason);
  });

  it('names a port that is in use and ends, with nothing left running', async () => {
    await using test = await createTestDatabase();
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const refused = await runCli(
      ['serve', '--host', '127.0.0.1', '--port', String(port)],
      test.settings,
      {
        env: { GATEWRIGHT_MASTER_KEY: masterKey },
      },
    );
    holder.close();
    expect(refused.exitCode).toBe(5);
    expect(refused.stderr).toContain(`127.0.0.1:${port}`);
  });

  it.each(['70000', '1.5', 'http'])('rejects port %s', async (port) => {
    const refused = await runCli(['serve', '--port', port], null, {
      env: { GATEWRIGHT_MASTER_KEY: masterKey },
    });
    expect(refused.exitCode).toBe(5);
    expect(refused.stderr).toContain('0 to 65535');
  });
});

describe('gatewright healthcheck', () => {
  it('reports the health of the server, and a missing server', async () => {
    await using test = await createTestDatabase();
    const { child, adminUrl, exit } = await serve(test.settings);
    const { port } = new URL(adminUrl);
    const ask = () => runCli(['healthcheck', '--port', port], null);
    const stdout = `http://127.0.0.1:${port}/readyz returns 200: {"status":"ok","reasons":[]}\n`;
    // Like an engine that requires several failed probes, because one may fail on a busy machine.
    await eventually(async () => expect(await ask()).toMatchObject({ exitCode: 0, stdout }));
    child.kill('SIGTERM');
    await exit;
    expect(await ask()).toMatchObject({
      exitCode: 6,
      stderr: `gatewright: http://127.0.0.1:${port}/readyz does not answer (ECONNREFUSED)\n`,
    });
  });
});
