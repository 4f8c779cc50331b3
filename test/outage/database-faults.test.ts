/** Tests a database that is slow, hangs, flaps, takes no writes or is away, and a control plane that is down. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, inject, it } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { startTestDatabaseServer } from '../support/database/database-server.ts';
import { administer, createDatabaseOn } from '../support/database/empty-database.ts';
import { isLong } from '../support/run/test-effort.ts';
import { eventually } from '../support/server/eventually.ts';
import type { Crowd } from './crowd.ts';
import { type OutageRun, runOutage } from './outage-run.ts';

/** Longer than any timeout of a gateway. */
const longMs = 12_000;
/** Leases of units last 30 s, those of the builder 15 s. */
const flaps = isLong ? { awayMs: 26_000, rounds: 4 } : { awayMs: 3_000, rounds: 4 };

const servedFor = (crowd: Crowd, kind: string): number =>
  crowd.requested.filter(({ by, status }) => by.kind === kind && status === 200).length;

/** Runs `act` on every link, waits, and mends. */
async function hold({ places }: OutageRun, act: (one: OutageRun['places'][0]) => void, ms: number) {
  for (const place of places) act(place);
  await wait(ms);
  for (const { link } of places) link.mend();
}

it('serves on while each statement takes a second, and charges everything once', async () => {
  await runOutage({
    script: async (run) => {
      for (const { link } of run.places) link.slow(1_000);
      await wait(longMs);
      const before = servedFor(run.crowd, 'unlimited');
      await eventually(() =>
        expect(servedFor(run.crowd, 'unlimited')).toBeGreaterThan(before + 20),
      );
      for (const { link } of run.places) link.mend();
    },
  });
});

it('serves on while the database hangs, and says that it is degraded', async () => {
  await runOutage({
    script: async (run) => {
      for (const { link } of run.places) link.freeze();
      await eventually(async () => {
        for (const place of run.places) {
          const { status, text } = await place.ready();
          expect([status, JSON.parse(text).status]).toEqual([200, 'degraded']);
        }
      });
      await wait(longMs);
      for (const { link } of run.places) link.mend();
      await eventually(async () => {
        for (const place of run.places) expect((await place.ready()).text).toContain('"ok"');
      });
    },
  });
});

it('exceeds no limit and loses nothing while the database comes and goes', async () => {
  await runOutage({
    script: async (run) => {
      for (let round = 0; round < flaps.rounds; round += 1) {
        await hold(run, ({ link }) => link.cut(), flaps.awayMs);
        await wait(flaps.awayMs);
      }
    },
  });
});

it('serves on without the control plane, and its successor builds the snapshot again', async () => {
  await runOutage({
    script: async ({ deployment, crowd, places }) => {
      await deployment.killControl();
      const { key } = await deployment.addKey();
      crowd.keys.push({ key, id: '', kind: 'passing', revokedAtMs: null });
      const before = servedFor(crowd, 'passing');
      await eventually(() => expect(servedFor(crowd, 'passing')).toBeGreaterThan(before + 100));
      await deployment.startControl();
      await deployment.awaitSaved(...places);
      for (const place of places) expect((await place.savedSnapshot()).holds(key)).toBe(true);
    },
  });
});

it('serves on while the database is read-only, and writes everything afterwards', async ({
  skip,
}) => {
  skip(
    (process.env.TEST_DATABASE_URL ?? '') !== '',
    'the server of TEST_DATABASE_URL is not ours to make read-only',
  );
  const own = await startTestDatabaseServer();
  await using _ = { [Symbol.asyncDispose]: own.stop };
  const { settings } = await createDatabaseOn(own.server);
  await administer(own.server, `USE ${settings.name};\n${inject('migratedSchema')}`);
  // A user without the right to write to a read-only server.
  await administer(
    own.server,
    `CREATE USER 'app'@'%' IDENTIFIED BY 'app'; GRANT ALL ON ${settings.name}.* TO 'app'@'%'`,
  );
  const readOnly = (state: 0 | 1) => administer(own.server, `SET GLOBAL read_only = ${state}`);
  await runOutage({
    between: async () => ({ ...settings, user: 'app', password: new Secret('app', 'test') }),
    script: async ({ places, crowd }) => {
      await readOnly(1);
      await eventually(async () => {
        for (const place of places) expect((await place.ready()).text).toContain('degraded');
      });
      const before = servedFor(crowd, 'unlimited');
      await eventually(() => expect(servedFor(crowd, 'unlimited')).toBeGreaterThan(before + 50));
      await wait(longMs);
      await readOnly(0);
      await eventually(async () => {
        for (const place of places) expect((await place.ready()).text).toContain('"ok"');
      });
    },
  });
});
