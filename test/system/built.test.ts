/** Guarantees that the package works as it is published: bundle, migrations and manifest, nothing else beside it. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEmptyDatabase } from '../database.ts';
import { runCli } from './run-cli.ts';

const root = resolve(import.meta.dirname, '../..');
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gatewright-built-'));
  const dist = join(directory, 'dist');
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), dist], { cwd: root });
  for (const name of ['migrations', 'package.json']) {
    cpSync(join(root, name), join(directory, name), { recursive: true });
  }
});
afterAll(() => rmSync(directory, { recursive: true }));

it('the built program migrates a database and runs its jobs', async () => {
  await using database = await createEmptyDatabase();
  const program = join(directory, 'dist/main.js');
  const migrated = await runCli(['migrate'], database.settings, { program });
  expect(migrated).toMatchObject({ exitCode: 0, stderr: '' });
  expect(migrated.stdout).toMatch(/applied 0001_tenancy\n/);
  const checked = await runCli(['migrate', '--check'], database.settings, { program });
  expect(checked).toMatchObject({ exitCode: 0, stdout: 'current: nothing is missing\n' });
  const ran = await runCli(['jobs', 'run', 'reset-usage'], database.settings, { program });
  expect(ran).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('keys 0') });
});
