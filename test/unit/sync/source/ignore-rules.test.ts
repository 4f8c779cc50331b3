/** Checks that `.gatewrightignore` ignores the same files as git, and that no rule is costly. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import { IgnoreRules, parseIgnoreFile } from '../../../../src/sync/source/ignore-rules.ts';

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'gatewright-ignore-'));
  execFileSync('git', ['init', '--quiet', root]);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function rulesOf(files: Record<string, string>): IgnoreRules {
  const rules = new IgnoreRules();
  for (const [folder, text] of Object.entries(files)) {
    const parsed = parseIgnoreFile('.gatewrightignore', Buffer.from(text));
    expect(parsed.faults).toEqual([]);
    rules.add(folder, parsed.rules);
  }
  return rules;
}

const leftOut = (text: string, ...paths: string[]): string[] => {
  const rules = rulesOf({ '': text });
  return paths.filter((path) => rules.leavesOut(path));
};

/** The paths that git ignores by the same lines. */
function leftOutByGit(text: string, paths: readonly string[]): string[] {
  const excludes = join(root, 'excludes');
  writeFileSync(excludes, text);
  const words = [
    '-c',
    `core.excludesFile=${excludes}`,
    'check-ignore',
    '--no-index',
    '--stdin',
    '-z',
  ];
  try {
    const output = execFileSync('git', ['-C', root, ...words], {
      input: paths.join('\0'),
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    });
    return output.toString().split('\0').filter(Boolean);
  } catch (error) {
    // 1 means that none is ignored.
    if ((error as { status?: number }).status === 1) return [];
    throw error;
  }
}

it('agrees with git on any rules and paths', () => {
  const name = fc
    .array(fc.constantFrom('a', 'b', 'ab', '*', '?', '[ab]', '[!a]', '[a-c]', '.x', '\\*', '\\ '), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join('').replaceAll(/(?<!\\)\*{2,}/g, '*'));
  const rule = fc
    .tuple(
      fc.constantFrom('', '', '', '!'),
      fc.constantFrom('', '', '/', '**/'),
      fc.array(fc.oneof(name, fc.constant('**')), { minLength: 1, maxLength: 3 }),
      fc.constantFrom('', '', '/', '/**', ' '),
    )
    .map(([mark, start, names, end]) => `${mark}${start}${names.join('/')}${end}`);
  const path = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'abc', 'a.x', 'b*', 'c', 'a '), {
      minLength: 1,
      maxLength: 4,
    })
    .map((names) => names.join('/'));
  const paths = fc.uniqueArray(path, { minLength: 30, maxLength: 40 });
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 4 }), paths, (rules, names) => {
      const text = `${rules.join('\n')}\n`;
      expect(leftOut(text, ...names)).toEqual(leftOutByGit(text, names));
    }),
    { numRuns: 80 },
  );
});

it('applies the rules of the nearest folder first, and readmits nothing below an ignored folder', () => {
  const rules = rulesOf({ '': '*.json\nvendor/\n!vendor/a.yaml\n', 'a/b': '!keep.json\n' });
  expect(
    ['a/x.json', 'a/b/keep.json', 'a/b/x.json', 'vendor/a.yaml', 'k.yaml'].map((path) =>
      rules.leavesOut(path),
    ),
  ).toEqual([true, false, true, true, false]);
  expect(rules.ignored).toEqual(['a/b/x.json', 'a/x.json', 'vendor/']);
});

it.each([
  ['a\n[b', '2 a [ is not closed'],
  ['x\\', '1 a backslash is followed by nothing'],
  ['\n!', '2 a rule needs names between its slashes'],
  ['a//b', '1 a rule needs names between its slashes'],
  ['a**/b', '1 ** must be alone between slashes'],
  ['/', '1 a rule needs names between its slashes'],
  ['../a.yaml', '1 a rule cannot contain . or ..'],
  ['[[:alpha:]]', '1 classes of the form [:name:] are not supported'],
  ['a'.repeat(501), '1 a rule is longer than 500 characters'],
  ['a\n'.repeat(1001), '1 the file has more than 1000 rules'],
  [`# ${'a'.repeat(64 * 1024)}`, '1 the file is larger than 64 KiB'],
])('rejects %j with its line', (text, reported) => {
  const { faults } = parseIgnoreFile('.gatewrightignore', Buffer.from(text));
  expect(faults.map(({ position, message }) => `${position.line} ${message}`)).toEqual([reported]);
});

it('rejects text that is not UTF-8', () => {
  const { faults } = parseIgnoreFile('.gatewrightignore', Buffer.from([0x61, 0xff]));
  expect(faults.map(({ code, message }) => [code, message])).toEqual([
    ['ignore-file', 'the file is not UTF-8 text'],
  ]);
});

it('parses comments, escapes, Windows line ends and a byte order mark', () => {
  expect(
    leftOut(
      '\uFEFFa.yaml\r\n# b.yaml\n\\#c.yaml\n\\!d.yaml\n',
      'a.yaml',
      'b.yaml',
      '#c.yaml',
      '!d.yaml',
    ),
  ).toEqual(['a.yaml', '#c.yaml', '!d.yaml']);
});

it('gives up on rules that take too long', () => {
  const deep = `${'**/a/'.repeat(90)}b`;
  const wide = `${'*a'.repeat(200)}b`;
  const rules = rulesOf({ '': `${`${deep}\n${wide}\n`.repeat(60)}` });
  const paths = Array.from(
    { length: 5000 },
    (_, at) => `${'a/'.repeat(50)}${'a'.repeat(240)}${at}`,
  );
  const failure = (() => {
    try {
      for (const path of paths) rules.leavesOut(path);
    } catch (error) {
      return error;
    }
    return undefined;
  })();
  expect(failure).toBeInstanceOf(Failure);
  expect(failure).toMatchObject({ kind: 'invalidInput' });
});
