/** Tests limits on three Galera nodes, each with its own gateway, while one node is killed under load. */
import { expect, inject, it } from 'vitest';
import type { DatabaseSettings } from '../../src/settings.ts';
import { newSeed, runGate, tell } from '../gate/run-gate.ts';
import { startDatabaseLink } from '../support/database/database-link.ts';
import { eventually } from '../support/server/eventually.ts';
import { killNode, restartNode } from './galera-cluster.ts';

const nodes = inject('galeraNodes');

const through = (at: number, real: DatabaseSettings): DatabaseSettings => ({
  ...real,
  port: nodes[at]!.server.port,
});

it('keeps a cost limit to the micro-dollar with gateways on three nodes, when one node and one gateway are killed', async () => {
  await using link = await startDatabaseLink();
  const seed = newSeed();
  try {
    const report = await runGate({
      seed,
      callers: 50,
      outputTokensMost: 4_000,
      killAfter: 500,
      terms: { key: { type: 'cost', units: 2_000_000 } },
      databaseOf: async (gateway, real) =>
        gateway === 2 ? link.lead(through(2, real)) : through(gateway, real),
      meanwhile: async ({ journal, server }) => {
        await eventually(() => expect(journal.entries.length).toBeGreaterThan(200));
        await killNode(nodes[2]!);
        // Like a load balancer that detects the failure.
        link.cut();
        await link.lead(through(1, server.settings.database!));
        link.mend();
      },
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
  } finally {
    await restartNode(nodes[2]!);
  }
});
