/** Verifies that commands in documents exist: options of gatewright, npm scripts, values of the chart. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { commands } from '../../../src/commands/all-commands.ts';
import { parseCommandLine } from '../../../src/commands/parsing/command-parser.ts';
import {
  commandsOf,
  type DocumentCommand,
  shellBlocksOf,
} from '../../support/documents/shell-blocks.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  ...['docs', 'examples', 'charts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
];

const found = documents.flatMap((path) =>
  shellBlocksOf(read(path))
    .flatMap(commandsOf)
    .map((command) => ({ ...command, title: `${path}:${command.line}` })),
);

/** The arguments of gatewright in a command that runs it, directly or in a container. */
function gatewrightWords({ words }: DocumentCommand): string[] | null {
  const [program, ...rest] = words;
  if (/(?:^|\/)gatewright$/.test(program!)) return rest;
  if (program === 'npm' && rest[0] === 'start') {
    const separator = rest.indexOf('--');
    return ['up', ...(separator < 0 ? [] : rest.slice(separator + 1))];
  }
  const separator = program === 'kubectl' ? words.indexOf('--') : -1;
  const isInside = separator >= 0 && words[separator + 1] === 'gatewright';
  return isInside ? words.slice(separator + 2) : null;
}

describe('shell blocks', () => {
  const own = found.flatMap((command) => {
    const words = gatewrightWords(command);
    return words === null ? [] : [{ title: command.title, words }];
  });

  it('includes many commands of gatewright', () => {
    expect(own.length).toBeGreaterThan(30);
  });

  it.each(own)(
    '$title names a command of gatewright with options that exist',
    async ({ words }) => {
      const parsed = await parseCommandLine(words, commands);
      const isHelp = words.some((word) => word === '--help' || word === '--version');
      expect(parsed.kind).toBe(isHelp ? 'text' : 'command');
    },
  );

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const unknown = found
      .filter(({ words }) => words[0] === 'npm')
      .map(({ title, words }) => ({ title, script: words[1] === 'run' ? words[2]! : words[1]! }))
      .filter(({ script }) => !['ci', 'install', 'pack'].includes(script) && !(script in scripts));
    expect(unknown).toEqual([]);
  });
});

describe('values of the chart', () => {
  const values = load(read('charts/gatewright/values.yaml')) as Record<string, unknown>;
  const isKnown = (key: string): boolean => {
    let at: unknown = values;
    for (const part of key.split(/(?<!\\)\./)) {
      if (typeof at !== 'object' || at === null || Array.isArray(at)) return false;
      // A map with names of the user's choice is empty in the values.
      if (Object.keys(at).length === 0) return true;
      if (!Object.hasOwn(at, part)) return false;
      at = (at as Record<string, unknown>)[part];
    }
    return true;
  };
  const helm = found.filter(
    ({ words }) => words[0] === 'helm' && words.some((word) => word === 'charts/gatewright'),
  );

  it('includes every key that a document sets', () => {
    const set = helm.flatMap(({ title, words }) =>
      words
        .flatMap((word, at) => (/^--set(?:-string)?$/.test(word) ? [words[at + 1]!] : []))
        .flatMap((text) => text.split(/(?<!\\),(?=[\w.]+=)/))
        .map((text) => ({ title, key: text.split('=')[0]! })),
    );
    expect(set.length).toBeGreaterThan(10);
    expect(set.filter(({ key }) => !isKnown(key))).toEqual([]);
  });

  it('reads values from files that exist', () => {
    const files = helm.flatMap(({ title, words }) =>
      words
        .flatMap((word, at) => (/^(?:-f|--values)$/.test(word) ? [words[at + 1]!] : []))
        .filter((file) => file.startsWith('examples/'))
        .map((file) => ({ title, file })),
    );
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter(({ file }) => !existsSync(join(root, file)))).toEqual([]);
  });
});
