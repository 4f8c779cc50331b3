/** Configures vitest for mutation testing: the chosen test files, nearest to the mutant first. */
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { planVariable, readPlan } from './scripts/mutation/run-plan.ts';
import { testControl } from './scripts/mutation/test-control.ts';
import { chaiConfig, hangMs, waitMs } from './test/support/run/common-options.ts';

// Tools that only read the configuration have no plan.
const tests = process.env[planVariable] === undefined ? [] : readPlan().tests;

class NearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { order } = testControl();
    const rank = ({ moduleId }: TestSpecification) =>
      order.indexOf(relative(process.cwd(), moduleId));
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  plugins: [
    {
      name: 'bail',
      configureVitest: ({ project }) => {
        testControl().setBail = (bail) => {
          project.config.bail = bail ? 1 : 0;
        };
      },
    },
  ],
  test: {
    testTimeout: hangMs,
    hookTimeout: hangMs,
    expect: { requireAssertions: true, poll: { timeout: waitMs, interval: 20 } },
    chaiConfig,
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    sequence: { sequencer: NearestFirst },
    setupFiles: ['test/support/run/property-seed.ts'],
    globalSetup: tests.some((one) => one.startsWith('test/api/'))
      ? ['test/support/run/global-setup.ts']
      : [],
    include: [...tests],
  },
});
