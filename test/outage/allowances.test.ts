/** Tests gateways that are killed and started again in an outage, with allowances, and clocks that are wrong. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { eventually } from '../support/server/eventually.ts';
import { type OutageRun, runOutage } from './outage-run.ts';

const minutesMs = 60_000;
const awayMs = 8_000;

function cutAll({ places }: OutageRun): void {
  for (const { link } of places) link.cut();
}

/** Resolves when a request of a budget was refused because the database is away. */
async function awaitRefusals({ crowd }: OutageRun, kind: 'refusing' | 'allowing'): Promise<void> {
  const from = crowd.requested.length;
  await eventually(() => {
    const recent = crowd.requested.slice(from).filter(({ by }) => by.kind === kind);
    expect(recent.some(({ status }) => status === 503 || status === 412)).toBe(true);
  });
}

it('spends a limit and one allowance for each gateway at most, though all are killed and started in the outage', async () => {
  await runOutage({
    script: async (run) => {
      const { faults, places } = run;
      cutAll(run);
      await awaitRefusals(run, 'refusing');
      for (const round of [0, 1]) {
        for (const at of places.keys()) {
          await faults.end(at, true);
          await faults.start(at);
          // The second time while another one has been refused with its allowance.
          if (round === 1) await awaitRefusals(run, 'allowing');
        }
      }
      for (const { link } of places) link.mend();
      await wait(2_000);
      cutAll(run);
      await wait(awayMs);
    },
  });
});

it('holds limits and knows its callers with the clock of one gateway five minutes ahead and of another behind', async () => {
  await runOutage({
    gateways: [{ clockOffMs: 5 * minutesMs }, { clockOffMs: -5 * minutesMs }, {}],
    script: async (run) => {
      const { faults, places, deployment, crowd } = run;
      const add = async (): Promise<void> => {
        const made = await deployment.addKey();
        crowd.keys.push({ ...made, kind: 'passing', revokedAtMs: null });
      };
      await add();
      await wait(awayMs / 2);
      cutAll(run);
      await add();
      for (const at of places.keys()) {
        await faults.end(at, at === 0);
        await faults.start(at);
      }
      await wait(awayMs);
    },
  });
});
