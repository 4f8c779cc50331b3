/** Measures `validate` of 10,000 documents against parsing alone and against the `yaml` package with zod. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { writeDocuments } from './documents.ts';
import { interleave, type Member, type Row, ratioRows } from './harness.ts';

const main = resolve(import.meta.dirname, '../dist/main.js');
const parserAlone = resolve(import.meta.dirname, 'validate-parser-alone.ts');
const obviousWay = resolve(import.meta.dirname, 'validate-obvious-way.ts');

const documentCount = 10_000;

export const member: Member = {
  name: 'validate of 10,000 documents, built',
  run: async (): Promise<Row[]> => {
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
    try {
      writeDocuments(folder, documentCount);
      const node = (name: string, ...args: string[]) => ({ name, command: process.execPath, args });
      const result = interleave(
        [
          node('validate', main, 'validate', folder),
          node('parser alone', parserAlone, folder),
          node('yaml and zod', obviousWay, folder),
        ],
        5,
        1,
      );
      return [
        ...ratioRows(result, 'against yaml and zod', 'validate', 'yaml and zod', 0.2),
        ...ratioRows(result, 'against js-yaml alone', 'validate', 'parser alone', null),
        { metric: 'share of CPU used by other processes', ratio: result.otherCpuShare, aim: null },
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
