/** Checks that the processes which tests start end with the test run, even when that is killed. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..');

/** Files that start processes without a leash, with the reason. */
const withoutLeash: Record<string, string> = {
  'cluster/release/load.ts': 'the process ends with its input',
  'differential/translations/peer.ts': 'the process ends with its input',
  'engines/vitess-cluster.ts': 'the kernel kills the process when its parent ends',
  'fuzz/requests/product.ts': 'servers end with their channel, and commands by themselves',
  'soak/soaked-process.ts': 'the process ends with its channel',
  'support/git/git-server.ts': 'the process ends with its input',
  'system/commands/plan-apply.test.ts': 'the shell runs one short command',
  'system/project/orphans.test.ts': 'it tests how processes without a leash end',
  'system/project/setup.test.ts': 'it tests how processes without a leash end',
};

it('starts every process of a test with a leash, except where it ends by itself', () => {
  const starting = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .filter((name) => /^import .*\bspawn\b.* from 'node:child_process'/m.test(contentOf(name)));
  expect(starting.sort()).toEqual(Object.keys(withoutLeash).sort());
});

function contentOf(name: string): string {
  return readFileSync(join(root, name), 'utf8');
}
