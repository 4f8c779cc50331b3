/** Installs published coding agents in `.cache/agents`, each once per clone. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createOnce, installPackages, runInstaller } from '../run/npm-packages.ts';
import { isLong } from '../run/test-effort.ts';

const parent = resolve(import.meta.dirname, '../../../.cache/agents');

/** Packages by the program that they contain. */
const npmPackages = {
  claude: '@anthropic-ai/claude-code@2.1.332',
  codex: '@openai/codex@0.171.0',
  gemini: '@google/gemini-cli@0.61.0',
  opencode: 'opencode-ai@1.18.33',
} as const;
const aiderPackage = 'aider-chat==0.86.2';

export type NpmAgent = keyof typeof npmPackages;

const system = `${process.platform}-${process.arch}`;

/** Programs below `node_modules`, without the install scripts that copy them; the first that exists. */
const programs: Readonly<Record<NpmAgent, readonly string[]>> = {
  claude: [`@anthropic-ai/claude-code-${system}/claude`],
  codex: ['.bin/codex'],
  gemini: ['.bin/gemini'],
  opencode: [`opencode-${system}-baseline/bin/opencode`, `opencode-${system}/bin/opencode`],
};

const folderOf = (name: NpmAgent): string =>
  join(parent, `${name}-${npmPackages[name].split('@').at(-1)}`);

/** The reason why the agent is not available; null if it is, possibly after an installation. */
export async function missingAgent(name: NpmAgent): Promise<string | null> {
  const reason = await installPackages(folderOf(name), [npmPackages[name]]);
  if (reason !== null) return `${name} cannot be installed from npm (${reason})`;
  return existsSync(agentProgram(name)) ? null : `${name} has no program for ${system}`;
}

export function agentProgram(name: NpmAgent): string {
  const paths = programs[name].map((path) => join(folderOf(name), 'node_modules', path));
  return paths.find((path) => existsSync(path)) ?? paths[0]!;
}

const aiderFolder = join(parent, `aider-${aiderPackage.split('==').at(-1)}`);

export const aiderProgram = join(aiderFolder, 'bin/aider');

/** It is left to long runs, because its installation takes half a minute of processor time. */
export async function missingAider(): Promise<string | null> {
  if (!isLong) return 'GATEWRIGHT_TEST_LONG=ON runs it; it takes about a minute of processor time';
  const reason = await createOnce(aiderFolder, async (draft) => {
    await runInstaller('python3', ['-m', 'venv', draft], parent);
    const flags = ['--quiet', '--no-input', '--no-compile', '--disable-pip-version-check'];
    await runInstaller(
      join(draft, 'bin/python'),
      ['-m', 'pip', 'install', ...flags, aiderPackage],
      parent,
    );
    // Programs name the folder in which they were installed.
    await runInstaller(
      'sed',
      ['-i', `1s|${draft}|${aiderFolder}|`, join(draft, 'bin/aider')],
      parent,
    );
  });
  return reason === null ? null : `aider cannot be installed from PyPI (${reason})`;
}
