/** Checks that an output file that cannot be written ends a command before it starts. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runWords } from '../../support/server/command-line.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-output-'));
  mkdirSync(join(folder, 'there'));
  writeFileSync(join(folder, 'file'), '');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  ['plan', 'out', []],
  ['apply', 'report', ['--yes']],
] as const)('%s --%s', (command, option, more) => {
  it.each([
    [
      'away/of/it',
      'the folder FOLDER/away/of does not exist; create it with: mkdir -p FOLDER/away/of',
    ],
    ['file/it', 'FOLDER/file is a file and no folder; name another place'],
    ['there', 'that is a folder; name a file in it'],
  ])('rejects %s with the fix, and creates no folder', async (name, message) => {
    const before = readdirSync(folder, { recursive: true });
    const result = await runWords([command, `--${option}`, name, ...more], folder);
    const reported = `gatewright: --${option} ${name}: ${message.replaceAll('FOLDER', folder)}\n`;
    expect(result).toEqual({ exitCode: 5, stdout: '', stderr: reported });
    expect(readdirSync(folder, { recursive: true })).toEqual(before);
  });
});
