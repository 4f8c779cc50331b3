/** Verifies the journal of usage on a real spool: it keeps the last states only, and hands them to the next process. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { UsageJournal } from '../../../src/ledger/journal/usage-journal.ts';
import { Spool } from '../../../src/spool/spool.ts';
import type { JournalledUse } from '../../../src/store/usage/journalled-use.ts';
import type { Holder } from '../../../src/store/usage/usage-holders.ts';
import { MemoryBank } from '../../support/ledger/memory-bank.ts';
import { eventually } from '../../support/server/eventually.ts';

let directory: string;
const key = randomBytes(32);
const subjectId = randomBytes(16);
const holder: Holder = { organisationId: randomUUID(), holder: randomBytes(16) };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'journal-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** A bank that notes what it settles. */
class NotingBank extends MemoryBank {
  readonly settled: { readonly holder: Holder; readonly uses: readonly JournalledUse[] }[] = [];

  override settle(holder: Holder, uses: readonly JournalledUse[]): Promise<void> {
    this.settled.push({ holder, uses });
    return Promise.resolve();
  }
}

async function openJournal() {
  const bank = new NotingBank(() => 0);
  const spool = new Spool({
    directory,
    bytesMax: 64 * 1024 * 1024,
    readKey: () => key,
    now: () => 0,
    onDamage: () => expect.unreachable(),
  });
  const stream = spool.stream({ name: 'usage', dropping: null, onReadable: () => undefined });
  await spool.open();
  return { bank, spool, journal: new UsageJournal(stream, bank, () => 0) };
}

/** Adopts at once what another process leaves in the folder. */
async function openBeside() {
  const bank = new NotingBank(() => 0);
  const spool = new Spool({
    directory,
    bytesMax: 64 * 1024 * 1024,
    readKey: () => key,
    now: () => 0,
    onDamage: () => expect.unreachable(),
    adoptEveryMs: 10,
  });
  const readable: Promise<void>[] = [];
  const stream = spool.stream({
    name: 'usage',
    dropping: null,
    onReadable: () => void readable.push(journal.settleLeft()),
  });
  const journal = new UsageJournal(stream, bank, () => 0);
  await spool.open();
  return { bank, spool, journal };
}

function use(after: number): JournalledUse {
  return {
    counter: {
      isRate: false,
      subjectKind: 'api_key',
      subjectId,
      windowStart: 0,
      id: subjectId,
      valueKey: '',
      endsAt: null,
    },
    limitUnits: 100,
    alertThresholdUnits: null,
    type: 'tokens',
    label: 'API key ci',
    sequence: 3,
    before: 0,
    after,
    running: 0,
    drawn: after,
  };
}

it('keeps the last state of a counter for the next process, which settles it once', async () => {
  const first = await openJournal();
  for (const after of [1, 2, 3]) await first.journal.write(holder, [use(after)]);
  await first.journal.close();
  await first.spool[Symbol.asyncDispose]();
  const second = await openJournal();
  await second.journal.settleLeft();
  expect(second.bank.settled).toEqual([{ holder, uses: [use(3)] }]);
  expect(second.journal.drawnBefore(use(0).counter)).toBe(3);
  await second.journal.close();
  await second.spool[Symbol.asyncDispose]();
  const third = await openJournal();
  await third.journal.settleLeft();
  expect(third.bank.settled).toEqual([]);
  await third.journal.close();
  await third.spool[Symbol.asyncDispose]();
});

it('replaces a thousand records by the last states', async () => {
  const { journal, spool } = await openJournal();
  const writes = Array.from({ length: 1_200 }, (_, at) => journal.write(holder, [use(at + 1)]));
  await Promise.all(writes);
  expect(spool.figures().records).toBe(1_200);
  await journal.settleLeft();
  expect(spool.figures().records).toBe(1);
  await journal.close();
  await spool[Symbol.asyncDispose]();
});

it('is loaded once the spool is open, although nobody has left anything', async () => {
  await using stack = new AsyncDisposableStack();
  const { spool, journal } = await openBeside();
  stack.use(spool);
  stack.defer(() => journal.close());
  await eventually(() => expect(journal.isLoaded).toBe(true));
});

it('settles what a process leaves while another one with records of its own runs beside it', async () => {
  await using stack = new AsyncDisposableStack();
  const beside = await openBeside();
  stack.use(beside.spool);
  stack.defer(() => beside.journal.close());
  const own: Holder = { organisationId: randomUUID(), holder: randomBytes(16) };
  await beside.journal.write(own, [use(7)]);
  const dying = await openJournal();
  await dying.journal.write(holder, [use(3)]);
  await dying.journal.close();
  await dying.spool[Symbol.asyncDispose]();
  await eventually(() => expect(beside.bank.settled).toEqual([{ holder, uses: [use(3)] }]));
});
