/** Configures the suites of `npm test`: unit, api and system share one database server; no retries. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { chaiConfig, hangMs, waitMs } from './test/support/run/common-options.ts';
import { ProjectOrder } from './test/support/run/project-order.ts';

const common = {
  testTimeout: hangMs,
  hookTimeout: hangMs,
  /** A test without an assertion fails. */
  expect: { requireAssertions: true, poll: { timeout: waitMs, interval: 20 } },
  chaiConfig,
  /**
   * A worker loads each module once for all files of a project, which saves a quarter of the processor time.
   * Mocks and stubs are undone after each test, and no module keeps state that another test could see.
   */
  isolate: false,
  restoreMocks: true,
  unstubEnvs: true,
  unstubGlobals: true,
  setupFiles: ['test/support/run/property-seed.ts'],
};

export default defineConfig({
  test: {
    reporters: ['default', './test/support/run/summary-reporter.ts'],
    /** Two more than the number of processors, because tests of processes mostly wait for them. */
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: ProjectOrder },
    projects: [
      { test: { ...common, name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        test: {
          ...common,
          name: 'api',
          include: ['test/api/**/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts'],
        },
      },
      {
        test: {
          ...common,
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts', 'test/system/project/build-setup.ts'],
        },
      },
    ],
  },
});
