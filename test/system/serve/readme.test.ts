/** Compares the output samples of README.md with what `gatewright up` prints. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { builtConsoleFolder, isConsoleBuilt } from '../../../src/console/console-files.ts';
import { createTestHome } from '../../support/server/home.ts';
import { startUp } from './up-runner.ts';
import { example } from './used-home.ts';

const consoleScript = resolve(import.meta.dirname, '../../../scripts/console/build.mjs');
const readme = readFileSync(resolve(import.meta.dirname, '../../../README.md'), 'utf8');
const [startSample, editSample] = [...readme.matchAll(/```text\n([\s\S]*?)```/g)].map(([, block]) =>
  linesOf(block!),
);

/** Normalised lines: without ports, paths, the engine's patch version and `--home`. */
function linesOf(text: string): string[] {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/MariaDB [\d.]+/g, 'MariaDB')
    .replaceAll('bin/gatewright', 'gatewright')
    .replaceAll(/ --home [^\s)]+/g, '')
    .replaceAll(/\S*\/(?=(?:credentials\.json|gatewright\.log|api-keys\.yaml))/g, '')
    .replaceAll(/(plan) \S+/g, '$1 SOURCE')
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
}

/** Lines of a sample that are missing in the output, or in another order. */
function missingLines(sample: readonly string[], output: readonly string[]): string[] {
  let from = 0;
  return sample
    .filter((line) => line !== '…' && !line.startsWith('$ '))
    .filter((line) => {
      const at = output.indexOf(line, from);
      if (at >= 0) from = at + 1;
      return at < 0;
    });
}

it('prints the start and the edited limit as README.md shows them', async () => {
  // `npm start` builds the console of a clone before it calls `up`.
  if (!isConsoleBuilt()) {
    const { buildConsole } = await import(consoleScript);
    await buildConsole(builtConsoleFolder());
  }
  using home = createTestHome();
  const source = join(home.path, 'gateway');
  cpSync(example, source, { recursive: true });
  await using up = startUp(home.path, ['--source', source]);
  await up.saw(/^ {2}curl \S+openapi\.json$/m);
  expect(missingLines(startSample!, linesOf(up.stdout()))).toEqual([]);

  const file = join(source, 'api-keys.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('value: 600', 'value: 900'));
  await up.saw(/Applied: 1 updated; \d+ unchanged\./);
  expect(missingLines(editSample!, linesOf(up.stdout()))).toEqual([]);
});
