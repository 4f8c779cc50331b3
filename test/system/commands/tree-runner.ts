/**
 * Test program that writes an export of 20 files to the folder in argument 1. It kills itself before
 * it writes the file with the number in argument 2.
 */
import { writeTree } from '../../../src/commands/changes/export-tree.ts';

const [, , target, killedAt] = process.argv;
const files = Array.from({ length: 20 }, (_, at) => ({
  path: `support-${at % 3}/configs-${at}.yaml`,
  get text() {
    if (at === Number(killedAt)) process.kill(process.pid, 'SIGKILL');
    return 'kind: Config\n';
  },
  resources: 1,
}));
await writeTree(target!, files);
