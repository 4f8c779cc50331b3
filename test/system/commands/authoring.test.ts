/** Tests the commands for writing manifests: schema, explain, new, fmt. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kindNames } from '../../../src/model/kinds/kinds.ts';
import { runCli } from './run-cli.ts';

function folder(): string {
  return mkdtempSync(join(tmpdir(), 'gatewright-authoring-'));
}

describe('schema', () => {
  it('prints one schema, and writes a file for each kind and one for any manifest', async () => {
    const cwd = folder();
    const run = await runCli(['schema', '--out', 'schemas'], null, { cwd });
    expect([run.stderr, run.exitCode]).toEqual(['', 0]);
    const names = ['manifest', ...kindNames].map((name) => `${name}.schema.json`);
    expect(readdirSync(join(cwd, 'schemas')).toSorted()).toEqual(names.toSorted());
    expect(run.stdout.trim().split('\n')).toHaveLength(names.length);
    const one = await runCli(['schema', 'ApiKey'], null);
    const file = readFileSync(join(cwd, 'schemas/ApiKey.schema.json'), 'utf8');
    expect(JSON.parse(one.stdout)).toEqual(JSON.parse(file));
  });

  it('names the path that it cannot write, and suggests the kind that was meant', async () => {
    const blocked = await runCli(['schema', '--out', '/dev/null/x'], null);
    expect([blocked.exitCode, blocked.stderr]).toEqual([
      5,
      'gatewright: cannot write /dev/null/x/manifest.schema.json (ENOTDIR)\n',
    ]);
    const misspelt = await runCli(['schema', 'ApiKye'], null);
    expect(misspelt.stderr).toContain('did you mean "ApiKey"?');
  });
});

describe('new', () => {
  it.each(kindNames)('%s: prints a manifest that validates as a file of its own', async (kind) => {
    const printed = await runCli(['new', kind], null);
    expect([printed.stderr, printed.exitCode]).toEqual(['', 0]);
    const checked = await runCli(['validate', '-'], null, { input: printed.stdout });
    expect([checked.stderr, checked.exitCode]).toEqual(['', 0]);
    expect(checked.stdout).toContain('all valid');
  });

  it('takes the name and a workspace that the source declares', async () => {
    const workspace = await runCli(['new', 'Workspace', 'support'], null);
    const named = ['McpServer', 'crm', '--workspace', 'support'];
    const server = await runCli(['new', ...named], null);
    expect(server.stdout).toContain('name: crm\n  workspace: support');
    // The address of a server without a stated slug has random digits, and cannot be changed later.
    expect(server.stdout).toContain('  slug: crm\n');
    const both = `${workspace.stdout}${server.stdout}`;
    const checked = await runCli(['validate', '-o', 'json', '-'], null, { input: both });
    expect(JSON.parse(checked.stdout)).toMatchObject({
      valid: true,
      resources: { Workspace: 1, McpIntegration: 1, McpServer: 1 },
    });
    const alone = await runCli(['new', ...named, '--alone'], null);
    expect(alone.stdout.match(/^kind: .*/gm)).toEqual(['kind: McpServer']);
  });

  it('rejects an invalid name, and a workspace within a workspace', async () => {
    const named = await runCli(['new', 'ApiKey', 'a b'], null);
    expect([named.exitCode, named.stderr.split(':')[1]]).toEqual([
      5,
      ' the name must have 1 to 253 letters, digits, ".", "_" or "-", beginning with a letter or digit\n',
    ]);
    const placed = await runCli(['new', 'Workspace', 'a', '--workspace', 'b'], null);
    expect(placed.stderr).toBe(
      'gatewright: a Workspace belongs to no workspace; leave --workspace out\n',
    );
  });
});

describe('explain', () => {
  it('lists the kinds, and the fields of one', async () => {
    const kinds = await runCli(['explain'], null);
    expect(kinds.stdout.split('\n').filter((line) => line !== '')).toHaveLength(kindNames.length);
    const kind = await runCli(['explain', 'ApiKey'], null);
    expect(kind.stdout).toContain('  scopes *');
    expect(kind.stdout).toContain('fields of spec');
  });

  it('shows type, bounds, immutability and an example, in either spelling', async () => {
    for (const path of ['usageLimits.creditLimit', 'spec.usage_limits.credit_limit']) {
      const { stdout } = await runCli(['explain', `ApiKey.${path}`, '-o', 'json'], null);
      expect(JSON.parse(stdout)).toEqual({
        field: 'ApiKey.spec.usageLimits.creditLimit',
        meaning: 'Amount at which requests with the key are rejected.',
        type: 'number',
        bounds: '1 to 8589934592',
        default: null,
        required: true,
        alternatives: [],
        change: 'in place',
        clearedByNull: false,
        secret: false,
        example: 100,
        fields: [],
      });
    }
    const fixed = await runCli(['explain', 'ApiKey.subType'], null);
    expect(fixed.stdout).toMatch(
      /default +"service"\n +required +no\n +change +replaces the resource/,
    );
    const reference = await runCli(['explain', 'McpServer.mcpIntegrationRef'], null);
    expect(reference.stdout).toMatch(/required +yes\n +change +replaces the resource/);
    const secret = await runCli(['explain', 'McpIntegration.configurations.headers.X'], null);
    expect(secret.stdout).toMatch(/secret +write-only/);
  });

  it('suggests the kind or the field that was meant', async () => {
    const kind = await runCli(['explain', 'ApiKye'], null);
    expect([kind.exitCode, kind.stderr]).toEqual([
      5,
      'gatewright: the kind "ApiKye" is not known: did you mean "ApiKey"?\n',
    ]);
    const field = await runCli(['explain', 'ApiKey.usageLimits.creditLimt'], null);
    expect(field.stderr).toBe(
      'gatewright: ApiKey.spec.usageLimits has no field "creditLimt": did you mean "creditLimit"?\n',
    );
  });
});

describe('fmt', () => {
  const untidy = 'kind: Workspace\napiVersion: gatewright.dev/v1\nmetadata: {name: w} # it\n';
  const tidy = 'apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: w} # it\n';

  it('names what would change under --check, formats without it, and then finds nothing to do', async () => {
    const cwd = folder();
    mkdirSync(join(cwd, 'team'));
    writeFileSync(join(cwd, 'team/w.yaml'), untidy, { mode: 0o640 });
    writeFileSync(join(cwd, 'other.yaml'), 'kind: Service\napiVersion: v1\n');
    const check = await runCli(['fmt', '--check'], null, { cwd });
    expect(check).toEqual({
      exitCode: 2,
      stdout: 'team/w.yaml\n',
      stderr: '1 file of manifests, 1 would change\n',
    });
    expect(readFileSync(join(cwd, 'team/w.yaml'), 'utf8')).toBe(untidy);
    const written = await runCli(['fmt'], null, { cwd });
    expect([written.exitCode, written.stdout]).toEqual([0, 'team/w.yaml\n']);
    expect(readFileSync(join(cwd, 'team/w.yaml'), 'utf8')).toBe(tidy);
    expect(statSync(join(cwd, 'team/w.yaml')).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(cwd, 'team'))).toEqual(['w.yaml']);
    const again = await runCli(['fmt', '--check', 'team'], null, { cwd });
    expect([again.exitCode, again.stdout]).toEqual([0, '']);
  });

  it('formats standard input to standard output', async () => {
    const run = await runCli(['fmt', '-'], null, { input: untidy });
    expect(run).toEqual({ exitCode: 0, stdout: tidy, stderr: '' });
    const foreign = await runCli(['fmt', '-'], null, { input: 'apiVersion: v1\nkind: Service\n' });
    expect(foreign.stdout).toBe('apiVersion: v1\nkind: Service\n');
  });

  it('leaves a broken file unchanged, names the position, and formats the others', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'broken.yaml'), 'a: [\n');
    writeFileSync(join(cwd, 'w.yaml'), untidy);
    const run = await runCli(['fmt'], null, { cwd });
    expect(run.exitCode).toBe(5);
    expect(run.stderr).toMatch(/left as they are:\nbroken\.yaml: \d+:\d+: /);
    expect(readFileSync(join(cwd, 'broken.yaml'), 'utf8')).toBe('a: [\n');
    expect(readFileSync(join(cwd, 'w.yaml'), 'utf8')).toBe(tidy);
  });
});
