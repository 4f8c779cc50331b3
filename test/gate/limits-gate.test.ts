/** Tests limits at full size: a thousand concurrent callers, several limits, wrong clocks, a database that fails. */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, inject, it } from 'vitest';
import { createEmptyDatabase } from '../support/database/database.ts';
import { startDatabaseLink } from '../support/database/database-link.ts';
import { startTestDatabaseServer } from '../support/database/database-server.ts';
import { administer, createDatabaseOn } from '../support/database/empty-database.ts';
import { eventually } from '../support/server/eventually.ts';
import { addBook, startCarelessGateway } from './careless-gateway.ts';
import { trueUnits } from './counters.ts';
import { Driver } from './driver.ts';
import { startJournal } from './journal.ts';
import { numbersOf } from './plan.ts';
import { newSeed, type RunningGate, runGate, tell } from './run-gate.ts';

/** Outage that is longer than a request waits, and shorter than a lease. */
async function outage(
  { journal }: RunningGate,
  link: { cut(): void; freeze(): void; mend(): void },
  awayMs: number,
): Promise<void> {
  for (const [at, leave] of [link.cut, link.freeze].entries()) {
    await eventually(() => expect(journal.entries.length).toBeGreaterThan(100 * (at + 1)));
    leave();
    await wait(awayMs);
    link.mend();
  }
}

it('fails for a gateway that checks before and counts after the request: its provider receives more than the limit', async () => {
  const tokens = 20_000;
  const seed = newSeed();
  await using stack = new AsyncDisposableStack();
  const journal = stack.use(await startJournal());
  const { settings: database } = stack.use(await createEmptyDatabase());
  await addBook(database);
  const gates = await Promise.all(
    Array.from({ length: 3 }, () =>
      startCarelessGateway({ database, providerUrl: journal.url, tokens }),
    ),
  );
  for (const gate of gates) stack.use(gate);
  const driver = stack.use(
    new Driver({
      gates,
      forms: ['chat'],
      random: numbersOf(seed),
      untilMs: 0,
      outputTokensMost: 1_000,
      alive: () => [0, 1, 2],
      headers: { 'content-type': 'application/json' },
    }),
  );
  await driver.drive(200);
  const used = journal.entries.reduce((sum, entry) => sum + trueUnits('tokens', entry), 0);
  console.log(`${used} tokens of a limit of ${tokens}`);
  expect(used).toBeGreaterThan(tokens);
});

describe('three gateways on one limit', () => {
  it('holds through a kill -9 of the database, and a dead gateway’s slices are charged when its lease expires', async ({
    skip,
  }) => {
    skip(
      (process.env.TEST_DATABASE_URL ?? '') !== '',
      'the server of TEST_DATABASE_URL is not ours to kill',
    );
    const own = await startTestDatabaseServer(['--innodb-flush-log-at-trx-commit=1']);
    await using _ = { [Symbol.asyncDispose]: own.stop };
    const { settings } = await createDatabaseOn(own.server);
    await administer(own.server, `USE ${settings.name};\n${inject('migratedSchema')}`);
    const seed = newSeed();
    const report = await runGate({
      seed,
      callers: 50,
      outputTokensMost: 4_000,
      waitsForLease: true,
      killAfter: 600,
      terms: { key: { type: 'cost', units: 2_000_000 } },
      between: async () => settings,
      meanwhile: async ({ journal }) => {
        for (const entries of [100, 300]) {
          await eventually(() => expect(journal.entries.length).toBeGreaterThan(entries));
          await own.killAndStart();
        }
      },
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
    expect(report.falselyRefused).toEqual([]);
  });

  it('never admits more than a cost limit, for a thousand callers while the window turns over and one gateway is killed', async () => {
    const seed = newSeed();
    const report = await runGate({
      seed,
      callers: 1_000,
      outputTokensMost: 500,
      terms: { key: { type: 'cost', units: 2_000_000 } },
      turns: true,
      killAfter: 500 + (seed % 2_000),
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
    expect(report.falselyRefused).toEqual([]);
  });

  it('holds token limits beside cost and request limits, with one clock an hour ahead', async () => {
    const seed = newSeed();
    const report = await runGate({
      seed,
      callers: 200,
      outputTokensMost: 1_000,
      clockOffMs: 3_600_000,
      terms: {
        key: { type: 'tokens', units: 300_000 },
        workspace: { type: 'cost', units: 1_000_000 },
        policy: { type: 'requests', units: 1_200 },
      },
      turns: true,
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
    expect(report.falselyRefused).toEqual([]);
  });

  it('refuses nothing falsely while a token limit and a request limit end at the same time', async () => {
    const seed = newSeed();
    const report = await runGate({
      seed,
      callers: 200,
      outputTokensMost: 1_000,
      terms: {
        key: { type: 'tokens', units: 100_000 },
        policy: { type: 'requests', units: 600 },
      },
      turns: true,
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
    expect(report.falselyRefused).toEqual([]);
  });

  it('holds while the database is disconnected, and while it hangs', async () => {
    await using link = await startDatabaseLink();
    const seed = newSeed();
    const report = await runGate({
      seed,
      callers: 50,
      outputTokensMost: 4_000,
      terms: { key: { type: 'cost', units: 2_000_000 } },
      databaseOf: (_, real) => link.leadHasty(real),
      meanwhile: (gate) => outage(gate, link, 12_000),
    });
    tell(report);
    expect(report.usedShare).toBeGreaterThan(0.95);
    expect(report.falselyRefused).toEqual([]);
  });
});
