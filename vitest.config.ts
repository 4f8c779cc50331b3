/** Knows how the tests run: three suites, one database server for all, no retries. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { hangMs, waitMs } from './test/hang-limit.ts';
import { ProjectOrder } from './test/project-order.ts';

const common = {
  testTimeout: hangMs,
  hookTimeout: hangMs,
  /** A test that ends without having asserted anything has failed. */
  expect: { requireAssertions: true, poll: { timeout: waitMs, interval: 20 } },
};

/**
 * A worker loads a module once for all files that it runs, which saves a quarter of the processor time.
 * What a test has replaced is put back before the next one, and no module keeps what a test could find.
 */
const shared = {
  ...{ isolate: false, restoreMocks: true, unstubEnvs: true, unstubGlobals: true },
  setupFiles: ['test/draw-from-seed.ts'],
};

export default defineConfig({
  test: {
    reporters: ['default', './test/summary-reporter.ts'],
    /** Two more than there are processors, because tests of processes mostly wait for those. */
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: ProjectOrder },
    projects: [
      { test: { ...common, ...shared, name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        test: {
          ...common,
          ...shared,
          name: 'api',
          include: ['test/api/**/*.test.ts'],
          globalSetup: ['test/global-setup.ts'],
        },
      },
      {
        test: {
          ...common,
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          globalSetup: ['test/global-setup.ts', 'test/system/build-setup.ts'],
        },
      },
    ],
  },
});
