/** Configures vitest for mutation testing: the unit tests of the mutated rooms, which need no database. */
import { defineConfig } from 'vitest/config';
import { chaiConfig, hangMs } from './test/support/run/common-options.ts';

/** Folders of `test/unit`, which mirror those of `src`. */
const rooms = process.env.GATEWRIGHT_MUTATION_ROOMS?.split(',') ?? ['*'];

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
    include: rooms.map((room) => `test/unit/${room}/**/*.test.ts`),
  },
});
