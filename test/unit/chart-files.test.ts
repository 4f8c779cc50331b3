/** Verifies that the generated files of the chart follow its values and the settings. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { chartFiles } from '../../scripts/chart/chart-files.ts';

const chart = resolve(import.meta.dirname, '../../charts/gatewright');
const values = readFileSync(resolve(chart, 'values.yaml'), 'utf8');

it.each(Object.entries(chartFiles(values)))('%s is as `npm run chart` writes it', (name, text) => {
  expect(readFileSync(resolve(chart, name), 'utf8')).toBe(text);
});
