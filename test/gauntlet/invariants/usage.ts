/** Compares log rows and charges with what callers and the provider have seen. */
import { balanceLimit, falseCharges, lostRows } from '../../outage/books.ts';
import type { Aftermath, Invariant } from './invariant.ts';

const spool = 'docs/guides/operations.md, Spool';
const limits = 'docs/explanation/limits.md';

/** Lines about rows; a row that exists twice is not lost. */
async function rowFaults({ scene, loads: { chats }, killBoundMs }: Aftermath): Promise<string[]> {
  return lostRows(scene.witnessDatabase.db, chats, killBoundMs);
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
    check: async (aftermath) => (await rowFaults(aftermath)).filter(isLost),
  },
  {
    name: 'usage rows written twice',
    document: spool,
    check: async (aftermath) => (await rowFaults(aftermath)).filter((line) => !isLost(line)),
  },
  {
    name: 'false charges',
    document: limits,
    check: async ({ calls, loads: { chats } }) => falseCharges(calls, chats),
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
