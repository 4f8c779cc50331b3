/** Checks what the spool promises of records: their order, bounds, sealing and what it does with damage. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SpoolRefusal } from '../../../src/spool/spool-error.ts';
import type { SpoolStream } from '../../../src/spool/spool-stream.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';
import { eventually } from '../../support/server/eventually.ts';
import {
  createTestSpool,
  droppedIn,
  loadAll,
  type TestSpool,
  type TestSpoolOptions,
} from '../../support/spool/test-spool.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gatewright-spool-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function openSpool(options: Partial<TestSpoolOptions> = {}): Promise<TestSpool> {
  const created = createTestSpool({ directory, ...options });
  await created.spool.open();
  return created;
}

const texts = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `record ${from + index} ${'x'.repeat(100)}`);

/** Fills the stream of usage and ends like a process. */
async function leave(records: readonly string[], options: Partial<TestSpoolOptions> = {}) {
  await using spool = await openSpool(options);
  await Promise.all(records.map((text) => spool.usage.append(Buffer.from(text))));
}

/** Files of all spools in the folder. */
function filesOf(stream: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes(`${stream}.`))
    .map((name) => join(directory, name))
    .sort();
}

async function appendInGroups(stream: SpoolStream, records: readonly string[], size: number) {
  for (let from = 0; from < records.length; from += size) {
    const group = records.slice(from, from + size);
    await Promise.all(group.map((text) => stream.append(Buffer.from(text))));
  }
}

describe('the spool', () => {
  it('hands records to the next process in the order of appending', async () => {
    const records = texts(300);
    await leave(records, { segmentBytes: 2048 });
    expect(filesOf('usage').length).toBeGreaterThan(5);
    await using next = await openSpool();
    expect(await loadAll(next.usage)).toEqual(records);
  });

  it('deletes released records, and the folder of the process that left them', async () => {
    await leave(texts(100), { segmentBytes: 1024 });
    {
      await using next = await openSpool();
      for (;;) {
        const loaded = await next.usage.load();
        if (loaded === null) break;
        next.usage.release(loaded.place, loaded.records.length);
      }
      expect(next.spool.figures()).toMatchObject({ records: 0, oldestMs: 0 });
    }
    expect(readdirSync(directory)).toEqual([]);
  });

  it('deletes delivered records later when the disk does not let their file go at once', async () => {
    await leave(texts(3));
    await using next = await openSpool({ adoptEveryMs: 10 });
    const [file] = filesOf('usage');
    const loaded = (await next.usage.load())!;
    // Even root cannot delete a folder as a file.
    rmSync(file!);
    mkdirSync(file!);
    next.usage.release(loaded.place, loaded.records.length);
    await next.usage.append(Buffer.from('the spool goes on'));
    expect(readdirSync(dirname(file!))).toContain(basename(file!));
    rmdirSync(file!);
    writeFileSync(file!, 'as it was');
    await eventually(() => expect(() => readFileSync(file!)).toThrow('ENOENT'));
    await eventually(() => expect(() => readdirSync(dirname(file!))).toThrow('ENOENT'));
  });

  it('hands out records that their owner holds only after a restart', async () => {
    const spool = await openSpool();
    spool.logs.push(Buffer.from('held'), { isHeld: true });
    spool.logs.push(Buffer.from('on disk'), { isHeld: false });
    expect(await loadAll(spool.logs)).toEqual(['on disk']);
    await spool[Symbol.asyncDispose]();
    await using next = await openSpool();
    expect(await loadAll(next.logs)).toEqual(['held', 'on disk']);
  });

  it('takes a record that is larger than a segment', async () => {
    const large = 'y'.repeat(50_000);
    await leave(['before', large, 'after'], { segmentBytes: 1024 });
    await using next = await openSpool();
    expect(await loadAll(next.usage)).toEqual(['before', large, 'after']);
  });

  it('shows nothing of a record on the disk', async () => {
    await leave(['CANARY of a caller', ...texts(20)]);
    const bytes = filesOf('usage').map((path) => readFileSync(path, 'latin1'));
    expect(bytes.join()).not.toMatch(/CANARY|record/);
  });

  it('delivers all records when the clock of the machine jumps', async () => {
    const times = [1_800_000_000_000, 1_800_000_300_000, 1_799_999_700_000];
    const now = (): number => times[0]!;
    for (const [index] of times.entries()) {
      await leave(texts(20, index * 20), { now, segmentBytes: 1024 });
      times.push(times.shift()!);
    }
    await using next = await openSpool({ now: () => 1_799_999_700_000 });
    expect((await loadAll(next.usage)).sort()).toEqual(texts(60).sort());
    expect(next.spool.figures().oldestMs).toBeGreaterThanOrEqual(0);
  });
});

describe('the folder of the spool', () => {
  it('keeps the records of each process that lives apart', async () => {
    await using first = await openSpool();
    await first.usage.append(Buffer.from('of the first'));
    {
      await using second = await openSpool();
      expect(await loadAll(second.usage)).toEqual([]);
      await second.usage.append(Buffer.from('of the second'));
    }
    await using third = await openSpool();
    expect(await loadAll(third.usage)).toEqual(['of the second']);
  });

  it('lets a running process take over what another leaves', async () => {
    const first = await openSpool();
    await using second = await openSpool({ adoptEveryMs: 10 });
    await first.usage.append(Buffer.from('left'));
    await first[Symbol.asyncDispose]();
    await eventually(async () => expect(await loadAll(second.usage)).toEqual(['left']));
  });

  it('is created again when somebody removes it while its process runs', async () => {
    {
      await using spool = await openSpool({ adoptEveryMs: 10 });
      await spool.usage.append(Buffer.from('removed with the folder'));
      const [removed] = readdirSync(directory);
      rmSync(join(directory, removed!), { recursive: true });
      await eventually(() => expect(readdirSync(directory)).toHaveLength(1));
      await eventually(async () => {
        await spool.usage.append(Buffer.from('a later record'));
        expect(filesOf('usage')).toHaveLength(1);
      });
      expect(readdirSync(directory)).not.toContain(removed);
    }
    await using next = await openSpool();
    expect(new Set(await loadAll(next.usage))).toEqual(new Set(['a later record']));
  });

  it('is refused with the setting and the fix when it is missing or no folder', async () => {
    const missing = createTestSpool({ directory: join(directory, 'missing') });
    await expect(missing.spool.open()).rejects.toThrow(
      /GATEWRIGHT_SPOOL_DIRECTORY, cannot be used: it does not exist .*missing.*Create it/,
    );
    writeFileSync(join(directory, 'file'), '');
    const file = createTestSpool({ directory: join(directory, 'file') });
    await expect(file.spool.open()).rejects.toThrow(/it is not a folder/);
    await expect(file.usage.append(Buffer.from('x'))).rejects.toThrow(SpoolRefusal);
  });
});

describe('damage', () => {
  /** Leaves 30 records in blocks of their own and returns the file. */
  async function leaveBlocks(): Promise<string> {
    await using spool = await openSpool();
    for (const text of texts(30)) await spool.usage.append(Buffer.from(text));
    return filesOf('usage')[0]!;
  }

  it('costs at most the block that contains it, and is reported', async () => {
    const path = await leaveBlocks();
    const whole = readFileSync(path);
    for (let at = 0; at < whole.length; at += 61) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 1 << (at % 8);
      writeFileSync(path, changed);
      const reader = createTestSpool({ directory });
      await reader.spool.open();
      const found = await loadAll(reader.usage);
      expect(reader.spool.figures().damaged + Number(found.length === 29)).toBeGreaterThan(0);
      expect(texts(30)).toEqual(expect.arrayContaining(found));
      if (at >= 64) expect(found.length).toBeGreaterThanOrEqual(29);
      await reader[Symbol.asyncDispose]();
      rmSync(`${path}.damaged`, { force: true });
    }
  });

  it('leaves the records before a torn one', async () => {
    const path = await leaveBlocks();
    const whole = readFileSync(path);
    for (const cut of [1, 15, 40, 130, 200]) {
      writeFileSync(path, whole.subarray(0, -cut));
      const reader = await openSpool();
      const found = await loadAll(reader.usage);
      expect(found).toEqual(texts(30).slice(0, cut > 136 ? 28 : 29));
      expect(reader.damage).toEqual([]);
      await reader[Symbol.asyncDispose]();
    }
  });

  it('sets a segment with a damaged header aside', async () => {
    const path = await leaveBlocks();
    const changed = readFileSync(path);
    changed[40]! ^= 1;
    writeFileSync(path, changed);
    await using reader = await openSpool();
    expect(await loadAll(reader.usage)).toEqual([]);
    expect(reader.damage).toEqual(['its header is damaged']);
    expect(readFileSync(`${path}.damaged`)).toEqual(changed);
  });

  it('is not seen in the segment of another deployment, which stays as it is', async () => {
    const path = await leaveBlocks();
    {
      await using foreign = await openSpool({ readKey: () => Buffer.alloc(32, 9) });
      expect(await loadAll(foreign.usage)).toEqual([]);
      expect(foreign.damage).toEqual(['it was written by another deployment']);
    }
    expect(filesOf('usage')).toEqual([path]);
    await using own = await openSpool();
    expect(await loadAll(own.usage)).toEqual(texts(30));
  });
});

describe('a full spool', () => {
  const small = { bytesMax: 16 * 1024, segmentBytes: 1024 };

  it('drops the oldest records that may be dropped, counts them, and keeps the others', async () => {
    {
      await using spool = await openSpool(small);
      for (const text of texts(40)) {
        await spool.usage.append(Buffer.from(text));
        for (const index of [0, 1, 2]) await spool.logs.append(Buffer.from(`log ${text} ${index}`));
      }
      const { bytes, dropped } = spool.spool.figures();
      expect(bytes).toBeLessThanOrEqual(small.bytesMax);
      expect(dropped).toBeGreaterThan(0);
    }
    await using next = await openSpool(small);
    expect(await loadAll(next.usage)).toEqual(texts(40));
    const [summary, ...logs] = await loadAll(next.logs);
    const all = texts(40).flatMap((text) => [0, 1, 2].map((index) => `log ${text} ${index}`));
    expect(logs).toEqual(all.slice(droppedIn(Buffer.from(summary!))!));
    expect(logs.length).toBeGreaterThan(10);
  });

  it('refuses records when it contains only those that are never dropped', async () => {
    await using spool = await openSpool(small);
    const taken: string[] = [];
    const fill = async (): Promise<void> => {
      for (const text of texts(500)) {
        await spool.usage.append(Buffer.from(text));
        taken.push(text);
      }
    };
    await expect(fill()).rejects.toThrow(/The spool is full: it contains \d+ of 16384 bytes/);
    expect(taken.length).toBeGreaterThan(50);
    expect(await loadAll(spool.usage)).toEqual(taken);
  });

  it('lets the owner of a held segment say that it is being delivered', async () => {
    let isBusy = true;
    await using spool = await openSpool({ ...small, dropping: { mayDrop: () => !isBusy } });
    const fill = (): Promise<void> => appendInGroups(spool.logs, texts(500), 20);
    await expect(fill()).rejects.toThrow(SpoolRefusal);
    isBusy = false;
    await fill();
    expect(spool.spool.figures().dropped).toBeGreaterThan(300);
  });
});

describe('a spool that closes while it drops', () => {
  it('has replaced the segment before another process may take the folder over', async () => {
    const contents = (): string[] => filesOf('logs').map((file) => `${file} ${readFileSync(file)}`);
    const { promise: isDropping, resolve: noteDropping } = Promise.withResolvers<void>();
    const summarise = (records: readonly Buffer[]): Buffer[] => {
      noteDropping();
      return [Buffer.from(`dropped ${records.length}`)];
    };
    const spool = await openSpool({
      bytesMax: 16 * 1024,
      segmentBytes: 1024,
      dropping: { summarise },
    });
    const appending = Promise.allSettled(
      texts(400).map((text) => spool.logs.append(Buffer.from(text))),
    );
    await isDropping;
    await spool[Symbol.asyncDispose]();
    const left = contents();
    await appending;
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    expect(contents()).toEqual(left);
  });
});

describe('a full disk', () => {
  it('drops what may be dropped and refuses the rest, until there is room again', async ({
    skip,
  }) => {
    const disk = mountSmallDisk(1);
    if (disk === null) return skip();
    try {
      const spool = createTestSpool({
        directory: disk,
        segmentBytes: 16 * 1024,
        bytesMax: 64 << 20,
      });
      await spool.spool.open();
      writeFileSync(join(disk, 'ballast'), Buffer.alloc(600 * 1024));
      const logs = texts(2_000).map((text) => `${text}${'z'.repeat(200)}`);
      await appendInGroups(spool.logs, logs, 100);
      expect(spool.spool.figures().dropped).toBeGreaterThan(500);
      const taken: string[] = [];
      const fill = async (): Promise<void> => {
        for (let from = 0; from < 20_000; from += 100) {
          const group = texts(100, from);
          const ends = await Promise.allSettled(
            group.map((text) => spool.usage.append(Buffer.from(text))),
          );
          taken.push(...group.filter((_, index) => ends[index]?.status === 'fulfilled'));
          const refused = ends.find(({ status }) => status === 'rejected');
          if (refused?.status === 'rejected') throw refused.reason;
        }
      };
      await expect(fill()).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(spool.spool.figures().fault).toBe('its disk is full');
      rmSync(join(disk, 'ballast'));
      await spool.usage.append(Buffer.from('again'));
      expect(spool.spool.figures().fault).toBeNull();
      expect(await loadAll(spool.usage)).toEqual([...taken, 'again']);
      await spool[Symbol.asyncDispose]();
    } finally {
      unmountSmallDisk(disk);
    }
  });
});
