/** Configures vitest for mutation testing: unit tests only, which need no database. */
import { defineConfig } from 'vitest/config';
import { chaiConfig, hangMs } from './test/support/run/common-options.ts';

export default defineConfig({
  test: {
    testTimeout: hangMs,
    hookTimeout: hangMs,
    expect: { requireAssertions: true },
    chaiConfig,
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    setupFiles: ['test/support/run/property-seed.ts'],
    include: ['test/unit/*/**/*.test.ts'],
  },
});
