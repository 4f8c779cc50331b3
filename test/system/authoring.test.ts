/** Guarantees what the commands for writing manifests do: schemas for editors, explanations, first manifests, one spelling. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kindNames } from '../../src/model/kinds.ts';
import { runCli } from './run-cli.ts';

function folder(): string {
  return mkdtempSync(join(tmpdir(), 'gatewright-authoring-'));
}

describe('schema', () => {
  it('prints one, and writes a file for each kind and one for any manifest', async () => {
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

  it('names what it cannot write, and the kind that was meant', async () => {
    const blocked = await runCli(['schema', '--out', '/dev/null/x'], null);
    expect([blocked.exitCode, blocked.stderr]).toEqual([
      5,
      'gatewright: cannot write /dev/null/x/manifest.schema.json (ENOTDIR)\n',
    ]);
    const misspelt = await runCli(['schema', 'ApiKye'], null);
    expect(misspelt.stderr).toContain('did you mean "ApiKey"?');
  });
});
