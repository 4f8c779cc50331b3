/** Tests plan, apply and export: output, files and exit codes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/commands/command-line.ts';
import type { TestServer } from '../../support/server/server.ts';
import { manifest, support } from '../../support/sync/manifests.ts';
import { canary, sopsFile, testKeyFile } from '../../support/sync/sops-files.ts';
import { canaries, everyKind, startSyncServer } from '../../support/sync/sync-setup.ts';
import { type CliResult, runCli, sourceProgram } from './run-cli.ts';

let server: TestServer;
let folder: string;

beforeAll(async () => {
  server = await startSyncServer();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-cli-'));
  mkdirSync(join(folder, 'gateway'));
  write('gateway/all.yaml', everyKind);
  write(
    '.gatewright/credentials.json',
    JSON.stringify({
      baseUrl: `${server.url}/v1`,
      adminBaseUrl: server.url,
      authUrl: server.url,
      iamUrl: server.url,
      tsgId: server.tsgId,
      clientId: server.clientId,
      clientSecret: server.clientSecret,
      organisationApiKey: server.organisationApiKey,
    }),
  );
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function run(...words: string[]): Promise<CliResult> {
  return runCli(words, null, { cwd: folder, env: { ...canaries } });
}

/** Runs from the sources, which print commands with the clone's launcher. */
function runClone(...words: string[]): Promise<CliResult> {
  return runCli(words, null, { cwd: folder, env: { ...canaries }, program: sourceProgram });
}

describe('plan', () => {
  it('shows what would change, exits with 2, and changes nothing', async () => {
    const { exitCode, stdout, stderr } = await run('plan', 'gateway');
    expect(stderr).toBe('');
    expect(exitCode).toBe(2);
    expect(stdout).toContain('+ create Workspace/support  gateway/all.yaml:2:1');
    expect(stdout).toContain('Plan: 9 to create; 0 unchanged');
    expect(stdout).not.toContain('\u001b');
    const again = await run('plan', 'gateway', '-o', 'json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      formatVersion: 1,
      summary: { create: 9, noop: 0, blocked: 0 },
    });
  });

  it('accepts a plan file in the source folder, and files of other programs next to it', async () => {
    write('mixed/all.yaml', everyKind);
    write('mixed/package.json', '{"name": "x"}');
    write('mixed/.gatewrightignore', 'draft/\n');
    write('mixed/draft/a.yaml', 'a: b: c\n');
    const plans = [];
    for (let times = 0; times < 3; times += 1) {
      // A shell creates the file before the program starts.
      if (times === 0) write('mixed/plan.json', '');
      const { stdout, exitCode } = await run('plan', 'mixed', '-o', 'json');
      expect(exitCode).toBe(2);
      write('mixed/plan.json', stdout);
      plans.push(stdout);
    }
    expect(plans[2]).toBe(plans[1]);
    expect(JSON.parse(plans[0] ?? '')).toMatchObject({
      ...JSON.parse(plans[1] ?? ''),
      leftAlone: { foreignFiles: ['mixed/package.json'] },
    });
    expect(JSON.parse(plans[1] ?? '')).toMatchObject({
      leftAlone: {
        ignored: ['mixed/draft/'],
        foreignFiles: ['mixed/package.json', 'mixed/plan.json'],
        foreignDocuments: [],
      },
    });
    const { stdout } = await run('plan', 'mixed');
    expect(stdout).toContain(
      '2 files without manifests left alone: mixed/package.json, mixed/plan.json\n' +
        '1 left out by .gatewrightignore: mixed/draft/\n',
    );
  });

  it('lists unmanaged resources and how to adopt them, without the key of the deployment', async () => {
    for (const name of ['by hand 1', 'by hand 2']) {
      await server.request('POST', '/v2/configs', { body: { name, config: {} } });
    }
    const { stdout } = await run('plan', 'gateway');
    expect(stdout).toMatch(
      /2 unmanaged left alone\. 2 of these loosen access\.\nunmanaged, left alone: Config\/by hand 1, Config\/by hand 2 \(to adopt: gatewright export DIR --unmanaged, then apply DIR --take-ownership\)\n/,
    );
    const json = JSON.parse((await run('plan', 'gateway', '-o', 'json')).stdout);
    expect(json.unmanaged).toMatchObject([
      { kind: 'Config', workspace: null, name: 'by hand 1', resourceId: expect.any(String) },
      { kind: 'Config', workspace: null, name: 'by hand 2' },
    ]);
  });

  it('exits with 0 under --fail-on for other changes', async () => {
    expect((await run('plan', 'gateway', '--fail-on', 'delete,replace')).exitCode).toBe(0);
    expect((await run('plan', 'gateway', '--fail-on', 'create')).exitCode).toBe(2);
    const wrong = await run('plan', 'gateway', '--fail-on', 'creates');
    expect(wrong).toMatchObject({ exitCode: 5 });
    expect(wrong.stderr).toContain('--fail-on takes create');
  });

  it('writes Markdown for a review', async () => {
    const { stdout } = await run('plan', 'gateway', '-o', 'markdown');
    expect(stdout).toMatch(/^### gatewright: Plan: 9 to create/);
    expect(stdout).toContain('```diff');
  });

  it('lists every fault with its position and exits with 5, before any request to the server', async () => {
    write('broken/a.yaml', 'apiVersion: gatewright.dev/v1\nkind: Configg\nmetadata: {name: a}\n');
    const { exitCode, stderr, stdout } = await run('plan', 'broken');
    expect(exitCode).toBe(5);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/broken\/a\.yaml:2:7 .*Configg/);
    expect(stderr).not.toContain('at ');
  });

  it('names the missing credentials file and how to get one, and exits with 5', async () => {
    const { exitCode, stderr } = await run('plan', 'gateway', '--credentials', 'none.json');
    expect(exitCode).toBe(5);
    expect(stderr).toContain(join(folder, 'none.json'));
    expect(stderr).toContain('gatewright up');
    expect(stderr).toContain('gatewright bootstrap');
  });

  it('reports that nothing listens, and exits with 6', async () => {
    const url = 'http://127.0.0.1:1';
    const known = JSON.parse(readFileSync(join(folder, '.gatewright/credentials.json'), 'utf8'));
    write('dead.json', JSON.stringify({ ...known, baseUrl: url, adminBaseUrl: url, authUrl: url }));
    const { exitCode, stderr } = await run('plan', 'gateway', '--credentials', 'dead.json');
    expect(exitCode).toBe(6);
    expect(stderr).toContain('nothing listens there');
  });
});

/** Runs before anything is applied, because its names are those of the other tests. */
describe('values that sops has encrypted', () => {
  it('plans them with the configured identity, names their positions, and shows no value', async () => {
    write('encrypted/crm.sops.yaml', sopsFile('crm.sops.yaml'));
    const env = { GATEWRIGHT_AGE_KEY_FILE: testKeyFile('') };
    const planned = await runCli(['plan', 'encrypted', '-o', 'json'], null, { cwd: folder, env });
    expect(planned.exitCode).toBe(2);
    expect(planned.stdout).toContain('sops:encrypted/crm.sops.yaml#spec.configurations');
    expect(planned.stdout + planned.stderr).not.toMatch(new RegExp(`${canary}|AGE-SECRET-KEY`));
    const closed = await run('plan', 'encrypted');
    expect(closed.exitCode).toBe(5);
    expect(closed.stderr).toContain(
      'set GATEWRIGHT_AGE_KEY_FILE to a file with an identity of age1',
    );
  });
});

describe('apply', () => {
  it('requires --yes without a terminal, and exits with 5', async () => {
    const { exitCode, stderr } = await run('apply', 'gateway');
    expect(exitCode).toBe(5);
    expect(stderr).toContain('add --yes');
  });

  it('applies and writes its report; a plan afterwards is empty', async () => {
    const { exitCode, stdout } = await run('apply', 'gateway', '--yes', '--report', 'report.json');
    expect(stdout).toContain('Applied: 9 created; 0 unchanged');
    expect(exitCode).toBe(0);
    const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'));
    expect(report.result.items).toHaveLength(9);
    expect(report.exitCode).toBe(0);
    const key = join(folder, '.gatewright/secrets/support/bot.key');
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect(await run('plan', 'gateway')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('Plan: no changes; 9 unchanged'),
    });
    const printed = stdout + JSON.stringify(report);
    for (const value of [...Object.values(canaries), readFileSync(key, 'utf8').trim()]) {
      expect(printed).not.toContain(value);
    }
  });

  it('reads manifests from standard input', async () => {
    const piped = runCli(['plan', '-', '--no-prune'], null, {
      cwd: folder,
      env: { ...canaries },
      input: everyKind,
    });
    expect(await piped).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('Plan: no changes; 9 unchanged'),
    });
  });

  it('refuses to prune everything with exit code 4, and prints the command that allows it', async () => {
    mkdirSync(join(folder, 'empty'));
    const { exitCode, stdout } = await run('apply', 'empty', '--yes');
    expect(exitCode).toBe(4);
    expect(stdout).toContain(
      'gatewright apply empty --yes --allow-deletes 9 --delete Workspace/support',
    );
    expect((await run('apply', 'empty', '--yes', '--no-prune')).exitCode).toBe(0);
  });
});

describe('the command that overrides a guard', () => {
  const places = {
    plain: { source: 'other', home: 'home', credentials: 'c.json' },
    hostile: {
      source: `-o "dir" $HOME 'x' #1`,
      home: 'my home\u001b[2J\nnext',
      credentials: `it's *mine*.json`,
    },
  };

  /** Runs a line in a shell whose search path lacks this program. */
  async function shell(line: string | undefined) {
    const child = spawn('/bin/sh', ['-c', `${line ?? 'false'} 2>&1 < /dev/null`], {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', ...canaries },
    });
    const [reported, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    return { status: status as number, reported };
  }

  it.each(Object.entries(places))(
    'runs unchanged and overrides the guard, in %s places',
    async (name, { source, home, credentials }) => {
      const owner = `team-${name}`;
      const manifestOf = (title: string): string => manifest('Workspace', title, '{}');
      write(`${source}/w.yaml`, manifestOf(`${name}-w`));
      write(credentials, readFileSync(join(folder, '.gatewright/credentials.json'), 'utf8'));
      const given = [`--home=${home}`, '--owner', owner, `--credentials=${credentials}`];
      const at = ['--', source];
      expect((await run('apply', ...given, '--yes', ...at)).exitCode).toBe(0);

      write(`${source}/w.yaml`, '');
      const refused = await runClone('apply', ...given, '--yes', ...at);
      expect(refused.exitCode).toBe(4);
      expect(`${refused.stdout}${refused.stderr}`).not.toMatch(/(?!\n)\p{Cc}/u);
      const [, release] = /If that is meant: +(.*)/.exec(refused.stdout) ?? [];
      expect(release).not.toContain(server.clientSecret);
      expect(await shell(release)).toEqual({
        status: 0,
        reported: expect.stringContaining('1 deleted'),
      });

      write(`${source}/w.yaml`, manifestOf(`${name}-x`));
      expect((await run('apply', ...given, '--yes', ...at)).exitCode).toBe(0);
      const other = given.map((word) => (word === owner ? `${owner}-2` : word));
      const blocked = await runClone('apply', ...other, '--yes', ...at);
      expect(blocked.exitCode).toBe(4);
      const [, takeOver] = /1 blocked can be taken over: (.*)/.exec(blocked.stdout) ?? [];
      expect(await shell(takeOver)).toEqual({
        status: 0,
        reported: expect.stringContaining('1 adopted'),
      });
    },
  );

  it('runs when a workspace left the source, and when half of a small set did', async () => {
    const given = ['--owner', 'guards', '--yes'];
    const config = (name: string): string => manifest('Config', name, '{config: {}}');
    const both = [config('g-one'), config('g-two')].join('---\n');
    write('guards/all.yaml', [manifest('Workspace', 'g-old', '{}'), both].join('---\n'));
    expect((await run('apply', 'guards', ...given)).exitCode).toBe(0);
    write('guards/all.yaml', both);
    const stored = await runClone('apply', 'guards', ...given);
    expect(stored).toMatchObject({
      exitCode: 4,
      stdout: expect.stringContaining('1 workspace left'),
    });
    const [, release] = /To delete now: (.*)/.exec(stored.stdout) ?? [];
    expect(await shell(release)).toMatchObject({
      status: 0,
      reported: expect.stringContaining('1 deleted'),
    });
    write('guards/all.yaml', [both, config('g-three'), config('g-four')].join('---\n'));
    expect((await run('apply', 'guards', ...given)).exitCode).toBe(0);
    write('guards/all.yaml', config('g-one'));
    const refused = await runClone('apply', 'guards', ...given);
    expect(refused).toMatchObject({ exitCode: 4, stdout: expect.stringContaining('3 of the 4') });
    const [, meant] = /If that is meant: +(.*)/.exec(refused.stdout) ?? [];
    expect(await shell(meant)).toMatchObject({
      status: 0,
      reported: expect.stringContaining('3 deleted'),
    });
  });

  it('continues as an apply when a plan printed it, with confirmation at a terminal', async () => {
    write('planned/w.yaml', '');
    await run('apply', 'gateway', '--yes');
    const { stdout } = await runClone(
      'plan',
      'planned',
      '-o',
      'text',
      '--secrets-dir',
      '.gatewright/s',
    );
    const [, release] = /If that is meant: +(.*)/.exec(stdout) ?? [];
    expect(release).toMatch(
      /gatewright apply planned --secrets-dir .gatewright\/s --allow-deletes 9 --delete Workspace\/support$/,
    );
    expect(await shell(release)).toEqual({
      status: 5,
      reported: expect.stringContaining('add --yes'),
    });
  });
});

describe('variables of the operator', () => {
  it.each([
    ['in a text', 'description: "${GATEWRIGHT_GIT_TOKEN}"'],
    ['with a default', 'description: "${GATEWRIGHT_GIT_TOKEN:-none}"'],
    ['of Git hosts', 'description: "${GITLAB_TOKEN}"'],
    ['that nobody permitted', 'description: "${HOME_PAGE}"'],
    [
      'as a secret',
      'url: https://a.example\nauthType: headers\ntransport: http\n' +
        'configurations: {headers: {X-A: {valueFrom: {env: GATEWRIGHT_GIT_TOKEN}}}}',
    ],
  ])('keeps %s out of all output and all requests', async (_, spec) => {
    const kind = spec.startsWith('url') ? 'McpIntegration' : 'Workspace';
    write('variables/a.yaml', manifest(kind, 'curious', spec));
    for (const words of [
      ['plan', 'variables'],
      ['apply', 'variables', '--yes', '--no-prune'],
    ]) {
      const { exitCode, stdout, stderr } = await runCli(words, null, {
        cwd: folder,
        env: {
          GATEWRIGHT_GIT_TOKEN: 'canary-git-token',
          GITLAB_TOKEN: 'canary-host-token',
          HOME_PAGE: 'canary-home-page',
          GATEWRIGHT_SYNC_VARIABLES: 'GITLAB_*',
        },
      });
      expect([words[0], exitCode]).toEqual([words[0], 5]);
      expect(stdout + stderr).not.toContain('canary');
      expect(stderr).toMatch(/variables\/a\.yaml:\d+:\d+ .*manifests (?:may not|never) read/);
    }
  });
});

it('prints no colours with --no-color, wherever it stands', async () => {
  const hasColors = async (...words: string[]): Promise<boolean> => {
    const stdout = Object.assign(new PassThrough(), { isTTY: true });
    const { signal } = new AbortController();
    const stdin = Readable.from([]);
    await runCommandLine(words, { stdin, stdout, stderr: new PassThrough(), signal, cwd: folder });
    return String(stdout.read()).includes('\u001b[');
  };
  write('colors/all.yaml', support.replace('support', 'colors'));
  const plan = ['plan', 'colors', '--no-prune'];
  expect(await hasColors(...plan)).toBe(true);
  expect(await hasColors('--no-color', ...plan)).toBe(false);
  expect(await hasColors(...plan, '--no-color')).toBe(false);
});

describe('get and describe', () => {
  it('lists resources by kind, in any usual spelling, workspace and name', async () => {
    const all = await run('get');
    expect([all.exitCode, all.stderr]).toEqual([0, '']);
    expect(all.stdout).toMatch(/^KIND +NAME +WORKSPACE +OWNER\n/);
    const keys = await run('get', 'ApiKey');
    expect(keys.stdout).toMatch(/^NAME +WORKSPACE +OWNER\n(?:.*\n)*bot +support +gatewright\n/);
    for (const kind of ['apikey', 'api-keys', 'APIKeys']) {
      expect((await run('get', kind)).stdout).toBe(keys.stdout);
    }
    expect((await run('get', 'ApiKey', '--workspace', 'nowhere')).stdout).toBe('');
    const [key] = JSON.parse((await run('get', 'ApiKey', 'bot', '-o', 'json')).stdout).resources;
    expect(key).toMatchObject({ kind: 'ApiKey', name: 'bot', manifest: { kind: 'ApiKey' } });
    expect((await run('get', 'ApiKey', key.id)).stdout).toContain('bot');
    const missing = await run('get', 'ApiKey', 'bott');
    expect([missing.exitCode, missing.stderr]).toEqual([
      5,
      expect.stringContaining('the server has no ApiKey "bott": did you mean "bot"?'),
    ]);
  });

  it('prints manifests that validate', async () => {
    const { stdout } = await run('get', '-o', 'yaml', '--workspace', 'support');
    const workspace = (await run('get', 'Workspace', 'support', '-o', 'yaml')).stdout;
    expect(stdout).toContain('kind: ApiKey');
    write('printed/all.yaml', [stdout, workspace].join('---\n'));
    const checked = await run('validate', 'printed');
    expect(checked.stdout).toContain('all valid');
  });

  it('describes one resource with owner, source, users and all fields', async () => {
    const { exitCode, stdout, stderr } = await run('describe', 'Guardrail', 'support/short');
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Guardrail\/support\/short\n {2}title /);
    expect(stdout).toMatch(/ declared in +\S+ gateway\/all\.yaml:\d+\n/);
    expect(stdout).toMatch(/ used by +Config\/support\/routing/);
    expect(stdout).toContain(
      'manifest, with all fields of the server\n  apiVersion: gatewright.dev/v1\n',
    );
  });
});

describe('export', () => {
  it('writes files that plan to nothing once their stubs are filled in', async () => {
    const { exitCode, stdout, stderr } = await run('export', 'exported');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('exported/support/configs.yaml  1 document\n');
    expect(stderr).toContain('fill in: McpIntegration/support/crm');
    const planned = await runCli(['plan', 'exported'], null, {
      cwd: folder,
      env: { GW_VAR_CRM_TOKEN: `Bearer ${canaries.GW_VAR_CRM_TOKEN}` },
    });
    expect(planned).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('Plan: no changes; 9 unchanged'),
    });
  });

  it('overwrites nothing and exits with 5', async () => {
    const { exitCode, stderr } = await run('export', 'exported');
    expect(exitCode).toBe(5);
    expect(stderr).toMatch(
      /exported\/support\/configs\.yaml\b.* exist already; nothing was written/,
    );
  });

  it('writes all files or none, whatever is in the way', async () => {
    const listing = (name: string) =>
      readdirSync(join(folder, name), { recursive: true }).toSorted();
    const all = listing('exported').filter((name) => String(name).endsWith('.yaml'));
    // The last of the files exists, or a file has the name of a folder.
    for (const [at, taken] of [String(all.at(-1)), 'support'].entries()) {
      write(`taken-${at}/${taken}`, 'mine\n');
      const before = listing(`taken-${at}`);
      const { exitCode, stdout, stderr } = await run('export', `taken-${at}`);
      expect([exitCode, stdout]).toEqual([5, '']);
      expect(stderr).toContain(join(`taken-${at}`, taken));
      expect(listing(`taken-${at}`)).toEqual(before);
      expect(readFileSync(join(folder, `taken-${at}`, taken), 'utf8')).toBe('mine\n');
    }
    write('shared/README.md', 'mine\n');
    expect((await run('export', 'shared')).exitCode).toBe(0);
    expect(listing('shared')).toEqual(['README.md', ...listing('exported')].toSorted());
    write('file', 'mine\n');
    expect((await run('export', 'file')).stderr).toMatch(/\/file exists already/);
  });

  it('writes one kind to standard output', async () => {
    const { stdout } = await run('export', '-', '--kind', 'Config,Guardrail');
    expect(stdout).toContain('kind: Config');
    expect(stdout).toContain('kind: Guardrail');
    expect(stdout).not.toContain('kind: ApiKey');
  });
});

describe('help', () => {
  it.each(['plan', 'apply', 'export'])('has worked examples for %s', async (verb) => {
    const { exitCode, stdout } = await run('help', verb);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Examples:');
    expect(stdout).toContain(`gatewright ${verb} `);
  });
});
