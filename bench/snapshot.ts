/** Measures the start from a sealed snapshot with 100,000 API keys, beside reading the same bytes. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { interleave, type Member, type Row, ratioRows } from './harness.ts';
import { writeCopy } from './snapshot/written-copy.ts';

const loadCopy = resolve(import.meta.dirname, 'snapshot/load-copy.ts');
const readFiles = resolve(import.meta.dirname, 'snapshot/read-files.ts');

const keys = 100_000;
const startMsMax = 2_000;
const memoryMax = 300 * 1024 * 1024;

export const member: Member = {
  name: 'start from a snapshot of 100,000 keys',
  run: async (): Promise<Row[]> => {
    const rows: Row[] = [];
    for (const organisations of [1, 1_000]) {
      const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
      try {
        await writeCopy(folder, organisations, keys);
        const printed = execFileSync(process.execPath, [loadCopy, folder], { encoding: 'utf8' });
        const { ms, rss } = JSON.parse(printed) as { ms: number; rss: number };
        const of = `${organisations} organisations`;
        rows.push({ metric: `${of}: time over 2 s`, ratio: ms / startMsMax, aim: 1 });
        rows.push({ metric: `${of}: memory over 300 MiB`, ratio: rss / memoryMax, aim: 1 });
        const node = (name: string, script: string) => {
          return { name, command: process.execPath, args: [script, folder] };
        };
        const result = interleave([node('load', loadCopy), node('read', readFiles)], 3, 1);
        rows.push(...ratioRows(result, `${of}: process, against reading`, 'load', 'read', null));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }
    return rows;
  },
};
