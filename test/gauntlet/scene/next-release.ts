/** Makes the next release of the program: the same code with a further migration. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuiltProgram, projectRoot } from '../../support/run/built-program.ts';

export interface NextRelease extends Disposable {
  /** Path of its `main.js`. */
  readonly program: string;
}

/** Tables that every request of the gauntlet reads or writes. */
const extendedTables = ['api_keys', 'request_logs', 'usage_counters', 'configs', 'workspaces'];

export function makeNextRelease({ directory }: BuiltProgram): NextRelease {
  const root = mkdtempSync(join(projectRoot, '.cache/next-'));
  const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest, version: '0.2.0' }));
  cpSync(join(projectRoot, 'migrations'), join(root, 'migrations'), { recursive: true });
  const statements = extendedTables.map(
    (table) => `ALTER TABLE ${table} ADD COLUMN of_the_next INT NOT NULL DEFAULT 7`,
  );
  writeFileSync(join(root, 'migrations/9001_next.sql'), `${statements.join(';\n')};\n`);
  cpSync(directory, join(root, 'dist'), { recursive: true });
  return {
    program: join(root, 'dist/main.js'),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}
