/** Compares log rows and charges with what callers and the provider have seen. */
import { balanceLimit, falseCharges, lostRows } from '../../outage/books.ts';
import type { Chats } from '../load/chats.ts';
import type { Aftermath, Invariant, TimedViolation } from './invariant.ts';

const spool = 'docs/guides/operations.md, Spool';
const limits = 'docs/explanation/limits.md';

/** Lines about rows; a row that exists twice is not lost. */
async function rowFaults({ scene, loads: { chats }, killBoundMs }: Aftermath): Promise<string[]> {
  return lostRows(scene.witnessDatabase.db, chats, killBoundMs);
}

const rowsThat =
  (fits: (line: string) => boolean): Invariant['check'] =>
  async (aftermath) =>
    withTimes((await rowFaults(aftermath)).filter(fits), aftermath.loads.chats);

/** Adds the time of the chat that a line names. */
function withTimes(lines: readonly string[], { requested }: Chats): (string | TimedViolation)[] {
  const byId = new Map(requested.map((one) => [one.plan.id, one]));
  return lines.map((line) => {
    const chat = byId.get(/chat-\d+/.exec(line)?.[0] ?? '');
    return chat === undefined ? line : { line, fromMs: chat.sentMs, toMs: chat.doneMs };
  });
}

const isLost = (line: string): boolean => line.includes(' has 0 rows');

async function balances({ scene, loads: { chats }, calls }: Aftermath) {
  const { db } = scene.witnessDatabase;
  return Promise.all(
    chats.limited.map((limited) =>
      balanceLimit(db, chats, calls, {
        limited,
        places: scene.gateways.length,
        hasEndedLeases: true,
      }),
    ),
  );
}

export const usageInvariants: readonly Invariant[] = [
  {
    name: 'usage rows lost',
    document: spool,
    check: rowsThat(isLost),
  },
  {
    name: 'usage rows written twice',
    document: spool,
    check: rowsThat((line) => !isLost(line)),
  },
  {
    name: 'false charges',
    document: limits,
    check: async ({ calls, loads: { chats } }) => withTimes(falseCharges(calls, chats), chats),
  },
  {
    name: 'double or missing charges',
    document: limits,
    check: async (aftermath) => (await balances(aftermath)).flatMap(({ miscounted }) => miscounted),
  },
  {
    name: 'overspend',
    document: limits,
    check: async (aftermath) => (await balances(aftermath)).flatMap(({ overspent }) => overspent),
  },
];
