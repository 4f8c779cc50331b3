/** Knows how the tests run that need a real Kubernetes API; `npm test` leaves them out. */
import { defineConfig } from 'vitest/config';
import { hangMs } from './test/hang-limit.ts';

export default defineConfig({
  test: {
    name: 'cluster',
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts', 'test/system/build-setup.ts'],
    reporters: ['default', './test/summary-reporter.ts'],
    testTimeout: hangMs,
    hookTimeout: hangMs,
    expect: { requireAssertions: true, poll: { timeout: hangMs, interval: 20 } },
  },
});
