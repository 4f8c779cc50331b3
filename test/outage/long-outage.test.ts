/** Tests a database that is away for ten minutes, or for less in a short run, with gateways that are replaced meanwhile. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isLong } from '../support/run/test-effort.ts';
import { eventually } from '../support/server/eventually.ts';
import { runOutage } from './outage-run.ts';

const awayMs = isLong ? 600_000 : 20_000;

it('serves every key without a limit to the end of a long outage, and writes and charges everything once afterwards', async () => {
  await runOutage({
    outlastsLeases: isLong,
    script: async ({ places, crowd, faults }) => {
      for (const { link } of places) link.cut();
      await wait(awayMs / 2);
      await faults.end(0, true);
      await faults.start(0);
      await faults.end(1, false);
      await faults.start(1);
      await wait(awayMs / 2);
      const lateMs = Date.now() - awayMs / 4;
      const servedLate = (at: number): number =>
        crowd.requested.filter(
          ({ by, gate, sentMs, status }) =>
            by.kind === 'unlimited' &&
            sentMs > lateMs &&
            status === 200 &&
            crowd.incarnations[gate]!.place === at,
        ).length;
      // The outage lasts until each gateway has served enough, however busy the machine is.
      for (const at of places.keys()) {
        await eventually(() => expect(servedLate(at), `gateway ${at}`).toBeGreaterThan(10));
      }
      for (const { link } of places) link.mend();
    },
  });
});
