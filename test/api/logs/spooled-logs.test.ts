/** Checks that log rows wait on disk while the database is away, and that each is counted once whatever happens. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseLogSink } from '../../../src/gateway/logs/log-sink.ts';
import { RequestLog, type RequestLogOptions } from '../../../src/gateway/logs/request-log.ts';
import { rowOf } from '../../../src/gateway/logs/request-log-row.ts';
import { Spool, type SpoolTerms } from '../../../src/spool/spool.ts';
import { DatabaseUnavailable } from '../../../src/store/connection/unavailable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { eventually } from '../../support/server/eventually.ts';

const organisationId = randomUUID();
const dayMs = 86_400_000;
let test: TestDatabase;
let directory: string;

beforeEach(async () => {
  test = await createTestDatabase();
  directory = mkdtempSync(join(tmpdir(), 'gatewright-spool-'));
});
afterEach(async () => {
  await test[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const away: RequestLogOptions['database'] = {
  transaction: () => Promise.reject(new DatabaseUnavailable('away')),
};

/** A process with a log on disk; `end` writes what it can within the time. */
async function startProcess(
  options: Partial<RequestLogOptions> = {},
  terms: Partial<SpoolTerms> = {},
) {
  const spool = new Spool({
    directory,
    bytesMax: 16 * 1024 * 1024,
    readKey: () => Buffer.alloc(32, 3),
    now: Date.now,
    onDamage: ({ reason }) => expect.unreachable(reason),
    ...terms,
  });
  const losses: number[] = [];
  const log = new RequestLog({
    database: test.database,
    openStream: (stream) => spool.stream(stream),
    onLoss: (_, requests) => losses.push(requests),
    ...options,
    bounds: { flushEveryMs: 1, retryMs: 1, ...options.bounds },
  });
  await spool.open();
  const end = async (withinMs = 60_000): Promise<void> => {
    await log.close(withinMs);
    await spool[Symbol.asyncDispose]();
  };
  return { log, spool, losses, end };
}

async function counts() {
  const { db } = test.database;
  const rows = await db.selectFrom('request_logs').select('trace_id').execute();
  const totals = await db.selectFrom('request_totals').selectAll().execute();
  const sum = (column: 'requests' | 'unlogged_requests'): number =>
    totals.reduce((total, row) => total + row[column], 0);
  return {
    rows: rows.length,
    different: new Set(rows.map((row) => row.trace_id)).size,
    requests: sum('requests'),
    unlogged: sum('unlogged_requests'),
  };
}

function record(log: RequestLog, from: number, count: number): void {
  for (let at = from; at < from + count; at += 1) {
    log.record(requestRecord(organisationId, { id: `trace-${at}` }));
  }
}

const all = (rows: number) => ({ rows, different: rows, requests: rows, unlogged: 0 });

describe('the request log with a spool', () => {
  it('leaves rows to the next process when the database is away until the end', async () => {
    const first = await startProcess({ database: away });
    record(first.log, 0, 700);
    await first.end(1);
    expect(first.losses).toEqual([]);
    expect(await counts()).toEqual(all(0));
    const second = await startProcess();
    await eventually(() =>
      expect(second.log.figures()).toMatchObject({ written: 700, waiting: 0 }),
    );
    await second.end();
    expect(await counts()).toEqual(all(700));
    expect(readdirSync(directory)).toEqual([]);
  });

  it('counts each row once when a process ends before it knows of a commit', async () => {
    const database: RequestLogOptions['database'] = {
      transaction: async (work) => {
        await test.database.transaction(work);
        throw new DatabaseUnavailable('lost');
      },
    };
    const first = await startProcess({ database });
    record(first.log, 0, 300);
    await eventually(async () => expect((await counts()).rows).toBe(300));
    record(first.log, 300, 40);
    await first.end(1);
    const second = await startProcess();
    await eventually(async () => expect(await counts()).toEqual(all(340)));
    await second.end();
    expect(await counts()).toEqual(all(340));
  });

  it('keeps rows on disk beyond the bounds of memory, and writes them in the end', async () => {
    let isAway = true;
    const database: RequestLogOptions['database'] = {
      transaction: (work) => (isAway ? away.transaction(work) : test.database.transaction(work)),
    };
    const { log, end } = await startProcess({ database, bounds: { waitingMax: 50 } });
    for (let from = 0; from < 3_000; from += 100) {
      record(log, from, 100);
      await new Promise(setImmediate);
    }
    expect(log.figures()).toMatchObject({ written: 0, lost: 0 });
    expect(log.figures().waiting).toBeLessThanOrEqual(82);
    isAway = false;
    await eventually(async () => expect(await counts()).toEqual(all(3_000)));
    record(log, 3_000, 10);
    await end();
    expect(await counts()).toEqual(all(3_010));
    expect(readdirSync(directory)).toEqual([]);
  });

  it('drops the oldest rows when the spool is full, and counts them by hour', async () => {
    const small = { bytesMax: 200 * 1024, segmentBytes: 8 * 1024 };
    const first = await startProcess({ database: away, bounds: { waitingMax: 20 } }, small);
    for (let from = 0; from < 2_000; from += 20) {
      record(first.log, from, 20);
      await new Promise(setImmediate);
      await eventually(() =>
        expect(first.spool.figures().bytes).toBeLessThan(small.bytesMax - small.segmentBytes),
      );
    }
    const { lost } = first.log.figures();
    expect(lost).toBeGreaterThan(500);
    await first.end(1);
    const second = await startProcess({}, small);
    await eventually(async () => {
      const { rows, unlogged } = await counts();
      expect(rows + unlogged).toBe(2_000);
    });
    await second.end();
    const found = await counts();
    expect(found).toMatchObject({ requests: found.rows, different: found.rows });
    expect(found.rows + found.unlogged).toBe(2_000);
    expect(found.rows).toBeGreaterThan(50);
  });

  it('leaves rows that a full disk has refused once it takes them, and reports them otherwise', async ({
    skip,
  }) => {
    const disk = mountSmallDisk(1);
    if (disk === null) return skip('mounting a small disk needs root on Linux');
    try {
      for (const isMended of [true, false]) {
        const first = await startProcess({ database: away }, { directory: disk });
        const ballast = join(disk, 'ballast');
        expect(() => writeFileSync(ballast, Buffer.alloc(2 * 1024 * 1024))).toThrow('ENOSPC');
        record(first.log, 0, 100);
        await eventually(() => expect(first.spool.figures().fault).toBe('its disk is full'));
        if (isMended) rmSync(ballast);
        await first.end(1);
        expect(first.losses).toEqual(isMended ? [] : [100]);
        rmSync(ballast, { force: true });
        const second = await startProcess({}, { directory: disk });
        await eventually(async () => expect(await counts()).toEqual(all(100)));
        await second.end();
      }
    } finally {
      unmountSmallDisk(disk);
    }
  });

  it('connects a replayed row with its open charge', async () => {
    const id = Buffer.alloc(16, 5);
    const openCharge = {
      organisation_id: organisationId,
      workspace_id: '',
      kind: 'responses',
      object_id: 'resp_1',
      run_id: '',
      provider: 'openai',
      id,
    };
    const charge = { ...openCharge, terms: '{}', created_at: 1, look_at: 1 };
    const rest = { logged_at: null, log_id: null, totals_id: null, used: null };
    await test.database.db
      .insertInto('open_charges')
      .values({ ...charge, ...rest })
      .execute();
    const first = await startProcess({ database: away });
    first.log.record(requestRecord(organisationId, { openCharge }));
    await first.end(1);
    const second = await startProcess();
    await eventually(async () => expect((await counts()).rows).toBe(1));
    await second.end();
    const [noted] = await test.database.db.selectFrom('open_charges').selectAll().execute();
    expect(noted?.log_id).toBeInstanceOf(Buffer);
  });
});

it('counts rows as unlogged, and no totals twice, when they are repeated after their retention', async () => {
  const record = requestRecord(organisationId, { startedAt: 10 * dayMs, durationMs: 1 });
  const written = rowOf({ ...record, organisationId });
  const { db } = test.database;
  const write = (fromMs: number | null) =>
    databaseLogSink(test.database, () => fromMs).write({ rows: [written], lost: [] }, true);
  for (const _ of [1, 2]) await write(10 * dayMs);
  expect(await counts()).toMatchObject({ rows: 1, requests: 1, unlogged: 0 });
  await db.deleteFrom('request_logs').execute();
  for (const _ of [1, 2]) await write(11 * dayMs);
  expect(await counts()).toMatchObject({ rows: 0, requests: 1, unlogged: 1 });
});
