/** Writes the data of the detector of gibberish. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { letterPairs } from './letter-pairs.ts';

const target = 'src/guardrails/detectors/language/letter-pairs.json';
writeFileSync(
  resolve(import.meta.dirname, '../..', target),
  `${JSON.stringify(letterPairs(), null, 2)}\n`,
);
process.stdout.write(`wrote ${target}\n`);
