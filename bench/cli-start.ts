/** Measures the start of the built command line against an empty Node process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { interleave, type Member, type Row, ratioRows } from './harness.ts';

const main = resolve(import.meta.dirname, '../dist/main.js');

const manifest = `apiVersion: gatewright.dev/v1
kind: Workspace
metadata:
  name: support
spec:
  description: One file, one document.
`;

export const member: Member = {
  name: 'start of the command line, built, against an empty process',
  run: async (): Promise<Row[]> => {
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
    try {
      writeFileSync(join(folder, 'empty.mjs'), '');
      writeFileSync(join(folder, 'one.yaml'), manifest);
      const node = (name: string, ...args: string[]) => ({ name, command: process.execPath, args });
      const result = interleave(
        [
          node('empty', join(folder, 'empty.mjs')),
          node('version', main, '--version'),
          node('validate', main, 'validate', join(folder, 'one.yaml')),
        ],
        9,
        10,
      );
      return [
        ...ratioRows(result, '--version', 'version', 'empty', 1.3),
        ...ratioRows(result, 'validate of one file', 'validate', 'empty', 2.5),
        { metric: 'share of CPU used by other processes', ratio: result.otherCpuShare, aim: null },
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
