/** Guarantees that a real shell completes every command, option and value by the script that is printed. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandLoaders } from '../../../src/commands/all-commands.ts';
import { runCli } from './run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatewright-completion-'));
mkdirSync(join(folder, 'my gateway'));
writeFileSync(join(folder, 'keys.yaml'), '');
const scripts = new Map<string, string>();

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout, stderr, exitCode } = await runCli(['completion', shell], null);
    expect([stderr, exitCode]).toEqual(['', 0]);
    scripts.set(shell, stdout);
  }
});

/** What bash offers for the last of some words, cut as bash cuts them. */
function offered(...words: string[]): string[] {
  const line = `COMP_WORDS=(gatewright "$@"); COMP_CWORD=$#; _gatewright; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const script = `set -u\n${scripts.get('bash')}\n${line}`;
  const run = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    cwd: folder,
    encoding: 'utf8',
  });
  // Outside of a completion bash has no option to set.
  expect([run.stderr, run.status]).toEqual(['', 0]);
  return run.stdout.split('\n').filter((word) => word !== '');
}

describe('bash', () => {
  it('is told of the function', () => {
    const script = `${scripts.get('bash')}\ncomplete -p gatewright`;
    const run = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
    expect([run.stdout, run.stderr]).toEqual(['complete -F _gatewright gatewright\n', '']);
  });

  it('completes commands', () => {
    expect(offered('')).toEqual([...commandLoaders.keys(), 'help', '--help', '--version']);
    expect(offered('va')).toEqual(['validate']);
    expect(offered('help', 'boot')).toEqual(['bootstrap']);
    expect(offered('nothing', '')).toEqual([]);
  });

  it.each([...commandLoaders.keys()])('completes every option of %s', async (name) => {
    const { options } = await commandLoaders.get(name)!();
    const long = Object.entries(options)
      .filter(([, { form }]) => !form.startsWith('word'))
      .map(([option]) => `--${option}`);
    expect(offered(name, '--').toSorted()).toEqual([...long, '--help'].toSorted());
  });

  it('completes the values of options, also behind a letter, an equals sign and a comma', () => {
    expect(offered('validate', '-o', 'j')).toEqual(['json']);
    expect(offered('validate', '--output', '=', 'g')).toEqual(['github']);
    expect(offered('validate', '--output', '=')).toEqual(['text', 'json', 'github']);
    expect(offered('export', '-', '--kind', 'Mcp')).toEqual(['McpIntegration', 'McpServer']);
    expect(offered('export', '-', '--kind', 'Config,Gu')).toEqual([
      'Config,Guardrail',
      'Config,GuardrailMcpBinding',
      'Config,GuardrailExclusion',
    ]);
  });

  it('completes files and folders where they belong, and words by their place', () => {
    expect(offered('plan', '')).toEqual(['keys.yaml', 'my gateway']);
    expect(offered('plan', 'keys.yaml', 'm')).toEqual(['my gateway']);
    expect(offered('plan', '--home', '')).toEqual(['my gateway']);
    expect(offered('jobs', '')).toEqual(['list', 'run']);
    expect(offered('jobs', 'run', '')).toEqual([]);
    expect(offered('plan', '--owner', '')).toEqual([]);
  });
});

it.each(['bash', 'zsh', 'fish'])('the script for %s names every command', (shell) => {
  const script = scripts.get(shell)!;
  expect([...commandLoaders.keys()].filter((name) => !script.includes(name))).toEqual([]);
});
