/** Loads the folder of a sealed snapshot as a gateway does at its start, and prints its time and memory. */
import { FolderCopy } from '../../src/snapshot/reading/snapshot-copy.ts';
import { SnapshotReader } from '../../src/snapshot/reading/snapshot-reader.ts';
import { benchMasterKeys } from './written-copy.ts';

const fail = (error: unknown): never => {
  throw error;
};
const memoryBefore = process.memoryUsage().rss;
const began = performance.now();
using copy = new FolderCopy(process.argv[2]!);
const reader = new SnapshotReader({
  masterKeys: benchMasterKeys,
  origin: null,
  copy,
  maxAgeMs: null,
  clock: { now: () => Date.now() },
  onRefused: fail,
  onUnsaved: fail,
  onChangeInForce: null,
});
if (!(await reader.load())) throw new Error('the snapshot was not loaded');
const figures = {
  ms: performance.now() - began,
  rssBefore: memoryBefore,
  rss: process.memoryUsage().rss,
  ...reader.figures(),
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
