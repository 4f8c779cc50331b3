/** Guarantees of limits at full size: a thousand callers at once, kinds of limits together, wrong clocks, a database that goes away. */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startDatabaseLink } from '../database-link.ts';
import { newSeed, type RunningGate, runGate, tell } from './run-gate.ts';

/** Away for longer than a request waits, and there again before a lease is over. */
async function outage(
  { journal }: RunningGate,
  link: { cut(): void; freeze(): void; mend(): void },
  awayMs: number,
): Promise<void> {
  for (const [at, leave] of [link.cut, link.freeze].entries()) {
    while (journal.entries.length < 100 * (at + 1)) await wait(10);
    leave();
    await wait(awayMs);
    link.mend();
  }
}

describe('three gateways on one limit', () => {
  it('of cost never let through more than it says, by a thousand callers while the window turns over and one is killed', async () => {
    const seed = newSeed();
    const report = await runGate({
      ...{ seed, callers: 1_000, outputTokensMost: 500 },
      terms: { key: { type: 'cost', units: 2_000_000 } },
      turns: true,
      killAfter: 500 + (seed % 2_000),
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
  });

  it('of tokens, beside others of cost and of requests, keep all of them; one has a clock that is an hour ahead', async () => {
    const seed = newSeed();
    const report = await runGate({
      ...{ seed, callers: 200, outputTokensMost: 1_000, clockOffMs: 3_600_000 },
      terms: {
        key: { type: 'tokens', units: 300_000 },
        workspace: { type: 'cost', units: 1_000_000 },
        policy: { type: 'requests', units: 1_200 },
      },
      turns: true,
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
  });

  it('keep it while the database is cut off, and while it hangs', async () => {
    await using link = await startDatabaseLink();
    const seed = newSeed();
    const report = await runGate({
      ...{ seed, callers: 50, outputTokensMost: 4_000 },
      terms: { key: { type: 'cost', units: 2_000_000 } },
      databaseOf: (_, real) => link.lead(real),
      meanwhile: (gate) => outage(gate, link, 12_000),
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
  });
});
