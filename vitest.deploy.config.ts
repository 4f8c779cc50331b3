/** Configures the suites beside `npm test`, which need more than npm and Debian packages or take longer. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { chaiConfig, hangMs, waitMs } from './test/support/run/common-options.ts';

/** Tests that depend on the database engine: statements, migrations, jobs, and sync from end to end. */
const engineTests = [
  'objects/engine-ranking',
  'requests/{idempotency,races}',
  'store/{database,schema,migrate,tenant-statements,one-server-database,one-server-migrate}',
  'jobs/{jobs,expire-keys,reset-usage,delete-old-usage}',
  'sync/cycle/{apply,laws,change-sets}',
  'sync/plan/plan',
  'sync/server/{leases,records}',
].map((path) => `test/api/${path}.test.ts`);

/**
 * Tests that are not run on Vitess, because it differs from a single server. vtgate rejects KILL, CREATE USER
 * and CREATE DATABASE, numbers its own connections, exposes no InnoDB state and does not pass
 * `lock_wait_timeout` on to DDL. It knows only the columns in the vschema. vtcombo requires no password.
 */
const singleServerTests = ['test/api/store/one-server-*.test.ts'];

/** As in vitest.config.ts: a worker loads each module once for all files and undoes mocks and stubs after each test. */
const sharedModules = {
  isolate: false,
  restoreMocks: true,
  unstubEnvs: true,
  unstubGlobals: true,
  setupFiles: ['test/support/run/property-seed.ts'],
};

export default defineConfig({
  test: {
    /** Two more than the number of processors, because tests wait for their server most of the time. */
    maxWorkers: availableParallelism() + 2,
    reporters: ['default', './test/support/run/summary-reporter.ts'],
    testTimeout: hangMs,
    hookTimeout: hangMs,
    expect: { requireAssertions: true, poll: { timeout: waitMs, interval: 20 } },
    chaiConfig,
    projects: [
      { extends: true, test: { name: 'chart', include: ['test/chart/**/*.test.ts'] } },
      { extends: true, test: { name: 'docs', include: ['test/docs/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'mcp',
          include: ['test/mcp/*.test.ts'],
          // The conformance package waits 500 to 800 ms for some messages, which a busy machine exceeds.
          retry: 1,
          globalSetup: ['test/support/run/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'agents',
          include: ['test/agents/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'console',
          include: ['test/console/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'openapi',
          include: ['test/openapi/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'differential',
          include: ['test/differential/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster',
          include: ['test/cluster/*.test.ts'],
          globalSetup: [
            'test/support/run/global-setup.ts',
            'test/system/project/build-setup.ts',
            'test/cluster/api-setup.ts',
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster-release',
          include: ['test/cluster/release/*.test.ts'],
          // Each file starts its own cluster and mostly waits; two at once load the machine enough.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          globalSetup: ['test/cluster/kit/setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'release',
          include: ['test/release/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts', 'test/release/build-release.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'gate',
          include: ['test/gate/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts', 'test/system/project/build-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'outage',
          include: ['test/outage/*.test.ts'],
          globalSetup: ['test/support/run/global-setup.ts', 'test/system/project/build-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          ...sharedModules,
          name: 'engines-mysql',
          include: ['test/api/**/*.test.ts'],
          exclude: engineTests,
          globalSetup: ['test/containers/server-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'engines-galera',
          include: ['test/engines/galera*.test.ts'],
          // The files kill the same nodes.
          fileParallelism: false,
          globalSetup: ['test/engines/galera-setup.ts', 'test/system/project/build-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'engines-vitess',
          include: ['test/api/**/*.test.ts', 'test/engines/vitess*.test.ts'],
          exclude: singleServerTests,
          maxWorkers: 3,
          globalSetup: ['test/engines/vitess-setup.ts', 'test/system/project/build-setup.ts'],
        },
      },
      ...['mariadb', 'mysql'].map((make) => ({
        extends: true as const,
        test: {
          ...sharedModules,
          name: `containers-${make}`,
          include: ['test/containers/**/*.test.ts', ...engineTests],
          globalSetup: ['test/containers/server-setup.ts'],
        },
      })),
    ],
  },
});
