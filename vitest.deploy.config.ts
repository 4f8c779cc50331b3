/** Knows the suites beside `npm test`, which need more than npm and Debian, or longer than a change waits. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { hangMs, waitMs } from './test/hang-limit.ts';

/** What rests on the engine: statements, migrations, jobs, and sync from end to end. */
const ofTheEngine = [
  ...['database', 'schema', 'migrate', 'races', 'idempotency', 'tenant-statements'],
  ...['jobs', 'expire-keys', 'reset-usage', 'delete-old-usage'],
  ...['sync-apply', 'sync-plan', 'sync-laws', 'sync-leases', 'sync-records', 'sync-sets'],
  ...['one-server-database', 'one-server-migrate', 'engine-ranking'],
].map((name) => `test/api/${name}.test.ts`);

/**
 * What Vitess is not asked, for it answers otherwise: vtgate takes no KILL, CREATE USER or CREATE DATABASE,
 * numbers its own connections, shows no state of InnoDB, does not hand `lock_wait_timeout` on to definitions,
 * and knows of a column only what the vschema says; vtcombo asks nobody for a password.
 */
const ofOneServer = ['test/api/one-server-*.test.ts'];

/** As with `npm test`: a worker loads a module once for all files, and puts back what a test replaced. */
const shared = {
  ...{ isolate: false, restoreMocks: true, unstubEnvs: true, unstubGlobals: true },
  setupFiles: ['test/draw-from-seed.ts'],
};

export default defineConfig({
  test: {
    /** Two more than there are processors, because tests wait for their server most of the time. */
    maxWorkers: availableParallelism() + 2,
    reporters: ['default', './test/summary-reporter.ts'],
    testTimeout: hangMs,
    hookTimeout: hangMs,
    expect: { requireAssertions: true, poll: { timeout: waitMs, interval: 20 } },
    projects: [
      { extends: true, test: { name: 'chart', include: ['test/chart/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'differential',
          include: ['test/differential/*.test.ts'],
          globalSetup: ['test/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster',
          include: ['test/cluster/*.test.ts'],
          globalSetup: [
            ...['test/global-setup.ts', 'test/system/build-setup.ts'],
            'test/cluster/api-setup.ts',
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster-release',
          include: ['test/cluster/release/*.test.ts'],
          // Each has a cluster of its own, and waits for most of its time: more than two are load enough.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          globalSetup: ['test/cluster/kit/setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'gate',
          include: ['test/gate/*.test.ts'],
          globalSetup: ['test/global-setup.ts', 'test/system/build-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: 'engines-mysql',
          include: ['test/api/**/*.test.ts'],
          exclude: ofTheEngine,
          globalSetup: ['test/containers/server-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'engines-galera',
          include: ['test/engines/galera*.test.ts'],
          // They kill the same nodes.
          fileParallelism: false,
          globalSetup: ['test/engines/galera-setup.ts', 'test/system/build-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'engines-vitess',
          include: ['test/api/**/*.test.ts', 'test/engines/vitess*.test.ts'],
          exclude: ofOneServer,
          maxWorkers: 3,
          globalSetup: ['test/engines/vitess-setup.ts', 'test/system/build-setup.ts'],
        },
      },
      ...['mariadb', 'mysql'].map((make) => ({
        extends: true as const,
        test: {
          ...shared,
          name: `containers-${make}`,
          include: ['test/containers/**/*.test.ts', ...ofTheEngine],
          globalSetup: ['test/containers/server-setup.ts'],
        },
      })),
    ],
  },
});
