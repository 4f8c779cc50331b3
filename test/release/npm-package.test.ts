/** Tests the npm package of a release: installed in an empty folder from the archive, and started. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createEmptyDatabase } from '../support/database/database.ts';
import { databaseVariables } from '../support/database/database-variables.ts';
import { installRelease } from './installed-release.ts';
import { runProgram, serveProgram } from './served-program.ts';

const { folder, version, commit, publicKeyPath } = inject('release');
const archive = join(folder, `gatewright-${version}.tgz`);
const work = mkdtempSync(join(tmpdir(), 'gatewright-installed-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('the npm package in an empty folder', () => {
  let command: readonly string[];
  beforeAll(() => {
    command = installRelease(archive, work);
  });

  it('installs nothing that only development needs, and runs no script', () => {
    expect(existsSync(join(work, 'node_modules/zod'))).toBe(true);
    for (const name of ['vitest', 'typescript', 'rolldown', '@sigstore/sign']) {
      expect([name, existsSync(join(work, 'node_modules', name))]).toEqual([name, false]);
    }
    const { packages } = JSON.parse(readFileSync(join(work, 'package-lock.json'), 'utf8'));
    const scripted = Object.values(packages as Record<string, { hasInstallScript?: boolean }>);
    expect(scripted.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  });

  it('prints its version, validates its examples, and verifies the release that it is part of', async () => {
    expect(await runProgram(command, ['--version'])).toMatchObject({ stdout: `${version}\n` });
    const examples = join(work, 'node_modules/gatewright/examples/1-quickstart');
    expect(await runProgram(command, ['validate', examples])).toMatchObject({ exitCode: 0 });
    const words = ['verify', folder, '--key', publicKeyPath, '--commit', commit];
    const verified = await runProgram(command, words);
    expect([verified.exitCode, verified.stderr]).toEqual([0, '']);
    expect(verified.stdout.split('\n').filter((line) => line.startsWith('ok  '))).toHaveLength(7);
  });

  it('reports a changed archive with the reason and exit code 3', async () => {
    const changed = join(work, `gatewright-${version}.tgz`);
    execFileSync('cp', ['-r', `${folder}/.`, join(work, 'changed')]);
    const copy = join(work, 'changed', `gatewright-${version}.tgz`);
    const bytes = readFileSync(copy);
    bytes[bytes.length - 20]! ^= 1;
    writeFileSync(copy, bytes);
    expect(existsSync(changed)).toBe(false);
    const { exitCode, stdout } = await runProgram(command, [
      'verify',
      copy,
      '--key',
      publicKeyPath,
    ]);
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/^FAILED {2}gatewright-.*\.tgz: the signature is not valid: /);
  });

  it('migrates a database, serves until it is ready, and stops when asked', async () => {
    await using database = await createEmptyDatabase();
    const env = {
      ...databaseVariables(database.settings),
      GATEWRIGHT_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEWRIGHT_LAME_DUCK_SECONDS: '0',
    };
    expect(await runProgram(command, ['migrate'], env)).toMatchObject({ exitCode: 0, stderr: '' });
    await using server = await serveProgram(command, env);
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
    expect((await fetch(`${server.adminUrl}/console`)).status).toBeLessThan(500);
    expect(await server.stop()).toBe(0);
  });
});
