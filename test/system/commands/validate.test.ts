/** Tests the output and exit codes of `gatewright validate`. */
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startGitServer } from '../../support/git/git-server.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { inSupport, manifest, support } from '../../support/sync/manifests.ts';
import { runCli } from './run-cli.ts';

const root = resolve(import.meta.dirname, '../../..');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-validate-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const validate = (...words: string[]) => runCli(['validate', ...words], null, { cwd: folder });

it('counts the resources of a valid source by kind, and exits with 0', async () => {
  const result = await validate(join(root, 'examples/1-quickstart'));
  expect(result).toEqual({
    exitCode: 0,
    stderr: '',
    stdout: `29 resources in 12 files, all valid
  Workspace             2
  Guardrail             3
  SecretReference       1
  Integration           1
  Provider              2
  Config                2
  ApiKey                2
  McpIntegration        1
  McpServer             1
  GuardrailMcpBinding   1
  UsageLimitPolicy      1
  RateLimitPolicy       1
  PromptLabel           1
  PromptCollection      1
  PromptPartial         1
  Prompt                1
  OrganisationDefaults  1
  GuardrailExclusion    1
  WorkspaceGuardrails   1
  Deployment            1
  ScimMapping           1
  ServiceAccount        1
  TenantServiceGroup    1
`,
  });
});

it.each(['text', 'json', 'github'])(
  'refuses a source that declares nothing, as %s',
  async (form) => {
    mkdirSync(join(folder, 'empty'));
    writeFileSync(join(folder, 'package.json'), '{"name": "other"}');
    for (const words of [[], ['empty'], ['-']]) {
      const { exitCode, stdout } = await validate('-o', form, ...words);
      expect([words, exitCode]).toEqual([words, 5]);
      expect(stdout).toContain('declares nothing');
      expect(stdout).toContain(words[0] ?? '.');
    }
  },
);

it('reports every fault with its position as typed and its fix, and exits with 5', async () => {
  mkdirSync(join(folder, 'team'));
  writeFileSync(join(folder, 'team/a.yaml'), manifest('Config', 'c', 'confg: {}', inSupport));
  writeFileSync(join(folder, 's.yaml'), support);
  const { exitCode, stdout, stderr } = await validate('team', 's.yaml');
  expect([exitCode, stderr]).toEqual([5, '']);
  expect(stdout).toBe(`team/a.yaml:5:3 spec.config is required
team/a.yaml:5:3 spec has no field "confg"
    did you mean "config"?

2 faults in 1 file
`);
});

it('reports one mistake once, with all its positions', async () => {
  const keys = Array.from({ length: 11 }, (_, at) =>
    manifest('ApiKey', `k${at}`, 'scopes: [completions.write]', ', workspace: suport'),
  );
  writeFileSync(join(folder, 'keys.yaml'), keys.join('---\n'));
  writeFileSync(join(folder, 's.yaml'), support);
  const { stdout } = await validate();
  expect(stdout).toBe(`keys.yaml:3:33 Workspace "suport" is not declared in this source
    did you mean "support"?
    also at keys.yaml:9:33, keys.yaml:15:33, keys.yaml:21:33, keys.yaml:27:33, keys.yaml:33:33 and 5 more places

1 fault at 11 places in 1 file
`);
  const { faults } = JSON.parse((await validate('-o', 'json')).stdout);
  expect(faults).toHaveLength(1);
  expect(faults[0].places).toHaveLength(11);
  expect((await validate('-o', 'github')).stdout.split('\n')).toHaveLength(2);
});

it('writes JSON and annotations for GitHub', async () => {
  writeFileSync(join(folder, 'a.yaml'), 'a: b: c\n');
  const json = await validate('-o', 'json');
  expect(json.exitCode).toBe(5);
  expect(JSON.parse(json.stdout)).toMatchObject({
    valid: false,
    files: 1,
    faults: [{ file: 'a.yaml', line: 1, column: 5, code: 'yaml-syntax' }],
  });
  const github = await validate('-o', 'github', '.');
  expect(github.stdout).toMatch(/^::error file=a\.yaml,line=1,col=5,title=yaml-syntax::.+%0A.+\n$/);
});

it('counts the files that it ignores, and names them', async () => {
  writeFileSync(join(folder, 'a.yaml'), support);
  for (const name of ['b.json', 'c.json', 'd.json', 'e.json', 'f.json', 'g.json']) {
    writeFileSync(join(folder, name), '{"version": 1}');
  }
  writeFileSync(
    join(folder, 'h.yaml'),
    `kind: Deployment\napiVersion: apps/v1\n---\n${support.replace('support', 'b')}`,
  );
  writeFileSync(join(folder, '.gatewrightignore'), 'x.yaml\n');
  writeFileSync(join(folder, 'x.yaml'), 'a: b: c\n');
  const { exitCode, stdout } = await validate();
  expect([exitCode, stdout]).toEqual([
    0,
    `2 resources in 2 files, all valid
  Workspace  2
6 files without manifests left alone: b.json, c.json, d.json, e.json, f.json and 1 more
1 document of other programs left alone: h.yaml:1
1 left out by .gatewrightignore: x.yaml
`,
  ]);
  expect(JSON.parse((await validate('-o', 'json')).stdout)).toMatchObject({
    valid: true,
    files: 2,
    leftAlone: {
      ignored: ['x.yaml'],
      foreignFiles: ['b.json', 'c.json', 'd.json', 'e.json', 'f.json', 'g.json'],
      foreignDocuments: ['h.yaml:1'],
    },
  });
});

it('reads standard input', async () => {
  const program = join(root, 'src/main.ts');
  const child = spawnTestProcess([program, 'validate', '-'], {
    cwd: folder,
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(support);
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect([exitCode, stdout]).toEqual([0, '1 resource in 1 file, all valid\n  Workspace  1\n']);
});

it('takes variables from the environment and from .env, and requires no secrets', async () => {
  const spec = `url: \${GW_VAR_CRM_URL}
authType: headers
transport: http
configurations: {custom_headers: {Authorization: {valueFrom: {env: GW_VAR_NOT_HERE}}}}`;
  writeFileSync(join(folder, 'a.yaml'), manifest('McpIntegration', 'crm', spec));
  expect((await validate()).stdout).toContain('the environment variable GW_VAR_CRM_URL is not set');
  writeFileSync(join(folder, '.env'), 'GW_VAR_CRM_URL=https://crm.example.com\n');
  expect((await validate()).exitCode).toBe(0);
});

it('reads no variable that is not permitted, from the process or from .env, and explains how to permit it', async () => {
  const masterKey = 'canary-of-a-master-key-0123456789-0123456789-0123456789';
  const env = { CRM_URL: 'canary-1', GATEWRIGHT_MASTER_KEY: masterKey, GITHUB_TOKEN: 'canary-3' };
  writeFileSync(
    join(folder, '.env'),
    'DB_URL=mysql://u:canary-4@h.example/n\nTEAM_NAME=canary-5\n',
  );
  const spec = (name: string): string => `description: "a \${${name}}"`;
  const names = ['CRM_URL', 'GATEWRIGHT_MASTER_KEY', 'GITHUB_TOKEN', 'DB_URL', 'TEAM_NAME', 'PORT'];
  const text = names.map((name) =>
    manifest('Workspace', name.toLowerCase().replaceAll('_', '-'), spec(name)),
  );
  writeFileSync(join(folder, 'a.yaml'), text.join('---\n'));
  const listed = { ...env, GATEWRIGHT_SYNC_VARIABLES: 'TEAM_*,GITHUB_*, GATEWRIGHT_*,DB_*,PORT' };
  for (const given of [env, listed]) {
    const { exitCode, stdout, stderr } = await runCli(['validate'], null, {
      cwd: folder,
      env: given,
    });
    expect(exitCode).toBe(5);
    expect(stdout + stderr).not.toContain('canary');
    expect(stdout.match(/manifests never read \w+/g)).toHaveLength(4);
    expect(stdout).toMatch(
      /a\.yaml:\d+:\d+ manifests may not read the environment variable CRM_URL/,
    );
    expect(stdout).toContain(
      'call it GW_VAR_CRM_URL, or permit it with GATEWRIGHT_SYNC_VARIABLES=',
    );
    expect(stdout.includes('variable TEAM_NAME')).toBe(given === env);
  }
});

it('names a missing path, exits with 5, and prints nothing on standard output', async () => {
  const result = await validate('nowhere');
  expect(result).toEqual({
    exitCode: 5,
    stdout: '',
    stderr: 'gatewright: No such file or folder: nowhere\n',
  });
});

it('ends soon on endless input, naming it and the limit', async () => {
  writeFileSync(join(folder, 'huge.yaml'), 'x'.repeat(1024 * 1024 + 1));
  const refused = await validate('/dev/zero');
  expect(refused).toEqual({
    exitCode: 5,
    stdout: '',
    stderr:
      'gatewright: /dev/zero is a device, which is not read. Name a file or folder, or - for standard input.\n',
  });
  const huge = await validate('huge.yaml');
  expect([huge.exitCode, huge.stdout]).toEqual([
    5,
    'huge.yaml:1:1 the file is larger than 1 MiB\n    split it into several files, or name it in .gatewrightignore\n\n1 fault in 1 file\n',
  ]);
  const zero = openSync('/dev/zero', 'r');
  const child = spawnTestProcess([join(root, 'src/main.ts'), 'validate', '/dev/stdin'], {
    cwd: folder,
    env: {},
    stdio: [zero, 'pipe', 'inherit'],
  });
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
  closeSync(zero);
  expect([exitCode, stdout]).toEqual([
    5,
    '<stdin>:1:1 the file is larger than 1 MiB\n    name files or a folder instead\n\n1 fault in 1 file\n',
  ]);
});

it('reads a Git repository', async () => {
  await using server = await startGitServer();
  const repository = server.repository('gateway');
  repository.commit('main', { 'prod/s.yaml': support, 'test/broken.yaml': 'a: b: c\n' });
  const words = ['validate', `${repository.url}#main:prod`];
  const env = { GATEWRIGHT_GIT_CA_FILE: server.caFile, GATEWRIGHT_HOME: join(folder, 'home') };
  const { exitCode, stdout } = await runCli(words, null, { cwd: folder, env });
  expect([exitCode, stdout]).toEqual([0, '1 resource in 1 file, all valid\n  Workspace  1\n']);
});

it('rejects 20,000 keys and alias bombs without expanding them', async () => {
  const head = 'apiVersion: gatewright.dev/v1\n';
  const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}: 1\n`).join('');
  const bomb = Array.from(
    { length: 60 },
    (_, at) => `a${at}: &a${at} [*a${at - 1}, *a${at - 1}]\n`,
  );
  writeFileSync(join(folder, 'keys.yaml'), head + keys);
  writeFileSync(join(folder, 'bomb.yaml'), head + bomb.join(''));
  const { exitCode, stdout } = await validate();
  expect(exitCode).toBe(5);
  expect(stdout).toContain('keys.yaml:2001:1 a map has more than 2000 keys');
  expect(stdout).toContain('bomb.yaml:2:5 anchors and aliases');
});
