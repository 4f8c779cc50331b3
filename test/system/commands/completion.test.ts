/** Tests the completion scripts: bash completes every command, option and value. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { commands } from '../../../src/commands/all-commands.ts';
import { listCandidates } from '../../../src/commands/completion/candidates.ts';
import { isWord } from '../../../src/commands/shared/option.ts';
import { runCli } from './run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatewright-completion-'));
const scripts = new Map<string, string>();

beforeAll(async () => {
  const program = join(folder, 'gatewright');
  writeFileSync(
    program,
    `#!/bin/sh\nexec '${process.execPath}' '${inject('builtProgram')}' "$@"\n`,
  );
  chmodSync(program, 0o755);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout, stderr, exitCode } = await runCli(['completion', shell], null);
    expect([stderr, exitCode]).toEqual(['', 0]);
    scripts.set(shell, stdout);
  }
});

/** Returns what bash offers for the last of some words, split as bash splits them. */
function offered(...words: string[]): string[] {
  const line = `COMP_WORDS=(gatewright "$@"); COMP_CWORD=$#; _gatewright; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const script = `set -u\n${scripts.get('bash')}\n${line}`;
  const run = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${folder}:${process.env.PATH}`, SHELL: '/usr/bin/zsh' },
  });
  expect([run.stderr, run.status]).toEqual(['', 0]);
  return run.stdout.split('\n').filter((word) => word !== '');
}

async function optionsOf(name: string): Promise<string[]> {
  const { options } = await commands.get(name)!.load();
  const long = Object.entries(options)
    .filter(([, option]) => !isWord(option))
    .map(([option]) => `--${option}`);
  return [...long, '--help'].toSorted();
}

it.each([...commands.keys()])('lists every option of %s', async (name) => {
  const listed = await listCandidates([name, '--'], commands);
  const long = listed.split('\n').filter((candidate) => candidate.startsWith('--'));
  expect(long.toSorted()).toEqual(await optionsOf(name));
});

describe('bash', () => {
  it('registers the function', () => {
    const script = `${scripts.get('bash')}\ncomplete -p gatewright`;
    const run = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
    const registered = 'complete -o default -F _gatewright gatewright\n';
    expect([run.stdout, run.stderr]).toEqual([registered, '']);
  });

  it('completes commands', () => {
    expect(offered('')).toEqual([...commands.keys()]);
    expect(offered('va')).toEqual(['validate']);
    expect(offered('help', 'boot')).toEqual(['bootstrap']);
  });

  it('completes the options of a command', async () => {
    expect(offered('up', '--').toSorted()).toEqual(await optionsOf('up'));
  });

  it('completes options that start like a short one', () => {
    expect(offered('validate', '--o')).toEqual(['--output']);
  });

  it('completes the values of options, also after a letter, an equals sign and a comma', () => {
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

  it('completes words by their position', () => {
    expect(offered('jobs', '')).toEqual(['list', 'run']);
    expect(offered('explain', 'ApiK')).toEqual(['ApiKey']);
  });

  it('leaves file names to the shell', () => {
    expect(offered('plan', '')).toEqual([]);
    expect(offered('plan', '--home', '')).toEqual([]);
    expect(offered('plan', '--owner', '')).toEqual([]);
  });
});

it.each([
  ['zsh', 'validate:Check manifests without a server'],
  ['fish', 'validate\tCheck manifests without a server'],
])('describes commands to %s', (shell, line) => {
  expect(scripts.get(shell)).toContain(`SHELL${shell === 'fish' ? ' fish' : '=zsh'}`);
  const words = ['--get-yargs-completions', 'gatewright', ''];
  const run = spawnSync(process.execPath, [inject('builtProgram'), ...words], {
    encoding: 'utf8',
    env: { SHELL: shell },
  });
  expect(run.stdout.split('\n')).toContain(line);
});
