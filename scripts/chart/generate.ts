/** Generates values.schema.json and README.md of the chart from values.yaml and the settings. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { chartFiles } from './chart-files.ts';

const chart = resolve(import.meta.dirname, '../../charts/gatewright');

for (const [name, text] of Object.entries(
  chartFiles(readFileSync(resolve(chart, 'values.yaml'), 'utf8')),
)) {
  writeFileSync(resolve(chart, name), text);
  process.stdout.write(`wrote charts/gatewright/${name}\n`);
}
