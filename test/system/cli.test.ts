/** Guarantees of the command line as a whole: help, slips, exit codes, and no more code than needed. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { commandLoaders } from '../../src/commands/all-commands.ts';
import { runCommandLine } from '../../src/commands/command-line.ts';
import { exitCodes } from '../../src/commands/shared/exit-codes.ts';
import { loadedIn, runCli, tellingLoads } from './run-cli.ts';

const root = resolve(import.meta.dirname, '../..');
const main = resolve(root, 'src/main.ts');
const names = [...commandLoaders.keys()];

/** Files and packages that a command line loads. */
async function loadedBy(...words: string[]): Promise<string[]> {
  return loadedIn((await runCli(words, null, { env: tellingLoads })).stderr);
}

/** Runs a command line without a process, for what is asked many times. */
async function runInside(words: readonly string[]): Promise<{ ending: unknown; stdout: string }> {
  let stdout = '';
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      stdout += chunk.toString();
      done();
    },
  });
  const ending = await runCommandLine(words, {
    stdin: Readable.from([]),
    stdout: sink,
    stderr: sink,
    signal: new AbortController().signal,
    cwd: root,
  });
  return { ending, stdout };
}

describe('help', () => {
  it('shows every command with its summary, with no word and with --help', async () => {
    const bare = await runCli([], null);
    const asked = await runCli(['--help'], null);
    expect(bare).toEqual(asked);
    expect(bare).toMatchObject({ exitCode: exitCodes.success, stderr: '' });
    for (const name of names)
      expect(bare.stdout).toMatch(new RegExp(`gatewright ${name}\\b.*  \\w`));
  });

  it.each(names)('of %s has options and worked examples', async (name) => {
    const { ending, stdout } = await runInside(['help', name]);
    expect(ending).toBe('success');
    expect(stdout).toMatch(new RegExp(`^gatewright ${name}`));
    const examples = stdout.split('Examples:')[1]!;
    expect(examples.match(new RegExp(`gatewright ${name}`, 'g'))!.length).toBeGreaterThanOrEqual(2);
    expect(await runInside([name, '--help'])).toEqual({ ending, stdout });
  });

  it.each(names)('of %s shows only options that it takes', async (name) => {
    const command = await commandLoaders.get(name)!();
    const taken = (await runInside([name, '--help'])).stdout.split('Examples:')[0]!;
    const shown = command.examples.flatMap(([line]) => line.match(/(?<= )--?[a-z][a-z-]*/g) ?? []);
    const known = (option: string): boolean =>
      taken.includes(`${option} `) || taken.includes(`${option},`);
    const positive = shown.map((option) => option.replace(/^--no-/, '--'));
    expect(positive.filter((option) => !known(option))).toEqual([]);
  });
});

describe('a slip', () => {
  it.each([
    [['plna'], /unknown command plna: did you mean "plan"\?/],
    [['help', 'aply'], /unknown command aply: did you mean "apply"\?/],
    [['up', '--prot', '1'], /unknown argument prot: did you mean "port"\?/],
    [['up', 'stray'], /unknown argument stray/],
    [['up', '--port', 'high'], /--port is a whole number from 0 to 65535/],
    [['plan', '--output', 'yml'], /output[\s\S]*text[\s\S]*json/],
  ] as const)('in %j is named, with exit code 5 and no stack', async (words, message) => {
    const { exitCode, stdout, stderr } = await runCli(words, null);
    expect(exitCode).toBe(exitCodes.invalidInput);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^gatewright: /);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(stdout).toBe('');
  });
});

describe('the process', () => {
  it('prints its version without loading more than it needs to end', async () => {
    const loaded = await loadedBy('--version');
    expect(loaded.map((url) => url.replace(/.*\/src\//, 'src/'))).toEqual([
      'src/main.ts',
      'src/commands/shared/exit-codes.ts',
      'src/package-root.ts',
    ]);
    const { version } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8'));
    const output = execFileSync(process.execPath, [main, '--version']).toString();
    expect(output).toBe(`gatewright ${version}\n`);
  });

  it('validates without the parts for servers, databases and logs', async () => {
    const loaded = await loadedBy('validate', resolve(root, 'examples/1-quickstart'));
    const heavy = /node_modules\/(mysql2|kysely|fastify|pino|undici|umzug|jose|croner)\//;
    expect(loaded.some((url) => url.includes('node_modules/yargs/'))).toBe(true);
    expect(loaded.filter((url) => heavy.test(url))).toEqual([]);
  });

  it('ends quietly when its reader goes away', async () => {
    const child = spawn(process.execPath, [main, 'settings', '--json-schema'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdout.destroy();
    await once(child, 'close');
    expect(stderr).toBe('');
  });
});
