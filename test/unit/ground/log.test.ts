/** Checks that each log entry is one bounded JSON line without credentials. */

import { Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLog, type Log, logLineBytesMax } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import type { LogLevel } from '../../../src/settings.ts';
import { eventually } from '../../support/server/eventually.ts';

function capture(level: LogLevel = 'info'): { log: Log; lines: () => string[] } {
  let written = '';
  const write = (text: unknown): boolean => {
    written += String(text);
    return true;
  };
  return {
    log: createLog({ level, destination: { write } }),
    lines: () => written.split('\n').slice(0, -1),
  };
}

describe('a log line', () => {
  it('is one JSON object with level, time and message', () => {
    const { log, lines } = capture();
    log.warn({ kind: 'guardrail', count: 2 }, 'done');
    expect(lines()).toHaveLength(1);
    expect(JSON.parse(lines()[0]!)).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      kind: 'guardrail',
      count: 2,
      msg: 'done',
    });
  });

  it('skips entries below the level', () => {
    const { log, lines } = capture('error');
    log.warn('quiet');
    log.error('loud');
    expect(lines().map((line) => JSON.parse(line).msg)).toEqual(['loud']);
  });

  it('stays one line with any control characters', () => {
    const { log, lines } = capture();
    log.info({ name: 'a\n{"level":"fatal"}\r\u2028' }, 'x\n\u001b[31my\u0000');
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).not.toMatch(/[\u0000-\u001f]/);
  });

  it.each([
    ['a huge message', (log: Log) => log.info('é"\\\n'.repeat(100_000))],
    ['a huge field', (log: Log) => log.info({ field: '\u0000'.repeat(100_000) }, 'hello')],
    [
      'many fields',
      (log: Log) => log.info({ list: Array.from({ length: 50_000 }, String) }, 'hello'),
    ],
  ])('cuts an entry with %s to its limit and states the original size', (_, write) => {
    const { log, lines } = capture();
    write(log);
    expect(lines()).toHaveLength(1);
    expect(Buffer.byteLength(lines()[0]!)).toBeLessThan(logLineBytesMax);
    expect(JSON.parse(lines()[0]!).cutBytes).toBeGreaterThan(logLineBytesMax);
  });

  it('survives cycles, big integers and objects that cannot be serialised', () => {
    const { log, lines } = capture();
    const circle: Record<string, unknown> = { big: 1n };
    circle.self = circle;
    const broken = {
      toJSON: () => {
        throw new Error('no');
      },
    };
    log.info({ circle, broken }, 'still here');
    expect(JSON.parse(lines()[0]!).msg).toBe('still here');
  });

  it('is one bounded JSON object for any value', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true }), fc.string(), (value, text) => {
        const { log, lines } = capture();
        log.info({ value }, text);
        expect(lines()).toHaveLength(1);
        expect(() => JSON.parse(lines()[0]!)).not.toThrow();
      }),
    );
  });
});

describe('credentials', () => {
  it('shows the origin of a value of type Secret', () => {
    const { log, lines } = capture();
    log.info(
      { password: new Secret('canary', 'env:DB_PASS'), key: new Secret('canary', 'env:K') },
      'x',
    );
    expect(lines()[0]).not.toContain('canary');
    expect(JSON.parse(lines()[0]!).key).toBe('(secret env:K)');
  });

  it.each([
    'authorization',
    'Authorization',
    'PROXY-AUTHORIZATION',
    'cookie',
    'Set-Cookie',
    'x-gateway-api-key',
    'X-Api-Key',
    'client_secret',
    'password',
  ])('redacts the value under the name %s at any depth', (name) => {
    const { log, lines } = capture();
    log.info(
      { [name]: 'canary"quoted\\', request: { headers: [{ [name]: ['canary', 'x'] }] } },
      'x',
    );
    log.child({ [name]: 'canary' }).info('x');
    expect(lines().join()).not.toContain('canary');
    expect(lines().map((line) => JSON.parse(line)[name])).toEqual(['[redacted]', '[redacted]']);
  });

  it('redacts credentials in the text of a message or an error', () => {
    const { log, lines } = capture();
    log.error(new Error('sent Authorization: Bearer canary.canary'), 'Basic Y2FuYXJ5LWNhbmFyeQ==');
    expect(lines()[0]).not.toContain('canary');
    expect(lines()[0]).not.toContain('Y2FuYXJ5');
  });
});

describe('a destination', () => {
  /** A stream whose reader takes nothing until it is released. */
  function stalled() {
    const lines: { n?: number; lostLines?: number }[] = [];
    let resume: (() => void) | null = null;
    let isStalled = true;
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(JSON.parse(String(chunk)));
        if (isStalled) resume = done;
        else setImmediate(done);
      },
    });
    const flow = (): void => {
      isStalled = false;
      resume?.();
    };
    return { stream, lines, flow };
  }

  it('keeps a bounded backlog when it stalls, then reports how many lines were lost', async () => {
    const { stream, lines, flow } = stalled();
    const log = createLog({ level: 'error', destination: stream });
    const filler = 'x'.repeat(10_000);
    const total = 1_000;
    for (let n = 1; n <= total; n++) log.error({ n, filler });
    expect(stream.writableLength).toBeGreaterThan(4 * 1024 * 1024);
    expect(stream.writableLength).toBeLessThan(4 * 1024 * 1024 + logLineBytesMax);
    flow();
    await eventually(() => expect(stream.writableLength).toBe(0));
    const notices = lines.filter((line) => line.lostLines !== undefined);
    const stored = lines.length - notices.length;
    expect(stored).toBeGreaterThan(100);
    expect(notices).toEqual([
      {
        level: 'warn',
        time: expect.any(String),
        lostLines: total - stored,
        msg: 'log lines were lost because they could not be written',
      },
    ]);
    log.error({ n: total + 1 });
    await eventually(() => expect(lines.at(-1)).toMatchObject({ n: total + 1 }));
  });

  it('survives a destination that fails, and reports the lost lines when it works again', async () => {
    const lines: string[] = [];
    let fails = true;
    const write = (line: unknown, ...rest: unknown[]): boolean => {
      if (!fails) lines.push(String(line));
      const done = rest.at(-1) as (error: Error | null) => void;
      done(fails ? new Error('ENOSPC') : null);
      return true;
    };
    const log = createLog({ level: 'info', destination: { write } });
    log.info('first');
    fails = false;
    log.info('second');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'second' },
      { lostLines: 1 },
    ]);
  });
});

describe('lines to a stream', () => {
  it('writes lines of every day together, in order, and at once after a warning', async () => {
    const writes: string[] = [];
    const destination = new Writable({
      decodeStrings: false,
      write: (chunk: string, _encoding, done) => {
        writes.push(chunk);
        done();
      },
    });
    const log = createLog({ level: 'info', destination });
    log.info('one');
    log.info('two');
    expect(writes).toEqual([]);
    log.warn('three');
    const stated = () =>
      writes.map((text) =>
        text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).msg),
      );
    expect(stated()).toEqual([['one', 'two', 'three']]);
    log.info('four');
    await eventually(() => expect(stated().at(-1)).toEqual(['four']));
  });
});
