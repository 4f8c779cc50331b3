/** Checks that a shell parses printed commands into the intended words. */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shellLine, shellWord } from '../../../src/commands/shared/shell-line.ts';
import { printable } from '../../../src/terminal-text.ts';

const clone = resolve(import.meta.dirname, '../../..');

beforeEach(() => void vi.stubEnv('npm_lifecycle_event', undefined));
afterEach(() => void vi.unstubAllEnvs());

describe('a word', () => {
  it.each([
    'plain',
    './a/b.yaml',
    'https://git.example.com/gw.git#main:prod',
    '-x',
    '#x',
    '~',
    'a b',
    `it's`,
    '"$HOME"',
    '`id`',
    '$(id)',
    'a;b|c&d',
    '*?[x]',
    '%s\\n',
    '\\',
    '!x',
    'ü 世界',
    '{a,b}',
    'a\u001b[2Jb',
    'two\nlines',
    'tab\tand space',
    "\u202e'%\\",
    '\u009b1',
    '=x',
    '',
  ])('passes sh unchanged, and triggers no terminal sequence: %j', (word) => {
    const written = shellWord(word);
    expect(printable(written)).toBe(written);
    expect(written).not.toContain('\n');
    const taken = execFileSync('/bin/sh', ['-c', `printf '%s' ${written}`], { encoding: 'utf8' });
    expect(taken).toBe(word);
  });
});

describe('a command', () => {
  it('places words that look like options behind --', () => {
    expect(
      shellLine(clone, 'apply', ['gateway'], { owner: 'a b', yes: true, home: undefined }),
    ).toBe("bin/gatewright apply gateway --owner 'a b' --yes");
    expect(shellLine(clone, 'apply', ['-x', '-'], { home: '-h' })).toBe(
      'bin/gatewright apply --home=-h -- -x -',
    );
  });

  it('finds the program from any directory, without a search path', () => {
    expect(shellLine('/elsewhere', 'plan', [], {})).toBe(
      `${shellWord(`${clone}/bin/gatewright`)} plan`,
    );
    vi.stubEnv('INIT_CWD', clone);
    expect(shellLine(clone, 'plan', [], {})).toBe('bin/gatewright plan');
  });
});
