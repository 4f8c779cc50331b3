/** Guarantees that progress is told at a terminal and to programs that ask for JSON, seldom, and leaves nothing behind. */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Progress } from '../../../src/commands/shared/progress.ts';
import { TextOutput } from '../../../src/commands/shared/text-output.ts';

/** What was written to a stream while so many changes were told of, one each `stepMs`. */
function written(
  { isTTY, form }: { isTTY: boolean; form: 'text' | 'json' },
  { total, stepMs }: { total: number; stepMs: number },
  stated?: string,
): string {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const output = new TextOutput(
    () => stream,
    () => false,
  );
  let now = 1_000_000;
  const progress = new Progress(output, form, { now: () => now });
  for (let done = 1; done <= total; done += 1) {
    progress.report({ done, total });
    now += stepMs;
  }
  if (stated !== undefined) output.write(stated);
  progress.end();
  return String(stream.read() ?? '');
}

/** What a terminal shows in the end: each line as the last of what was written over it. */
function screen(text: string): string[] {
  return text.split('\n').map((line) =>
    line
      .split('\r')
      .reduce((displayed, part) => part + displayed.slice(part.length), '')
      .trimEnd(),
  );
}

const terminal = { isTTY: true, form: 'text' } as const;

describe('at a terminal', () => {
  it('is a line of changes done, all changes and the time left, at most ten times a second', () => {
    const text = written(terminal, { total: 400, stepMs: 25 });
    const lines = text.split('\r').filter((line) => line.trim() !== '');
    expect(lines[0]?.trim()).toBe('21 of 400 changes');
    expect(lines.at(-1)?.trim()).toMatch(/^39\d of 400 changes, about 1 s left$/);
    expect(lines.length).toBeLessThanOrEqual(100);
    expect(lines.find((line) => line.includes('101 of 400'))?.trim()).toBe(
      '101 of 400 changes, about 7 s left',
    );
  });

  it('is gone in the end, and before anything else is said', () => {
    expect(screen(written(terminal, { total: 400, stepMs: 25 }))).toEqual(['']);
    expect(screen(written(terminal, { total: 400, stepMs: 25 }, 'waiting\n'))).toEqual([
      'waiting',
      '',
    ]);
  });

  it('is nothing for a run that is over at once', () => {
    expect(written(terminal, { total: 40, stepMs: 10 })).toBe('');
  });
});

describe('elsewhere', () => {
  it('is an event each five seconds where JSON is asked for', () => {
    const lines = written({ isTTY: false, form: 'json' }, { total: 400, stepMs: 30 })
      .trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { event: 'progress', done: 168, total: 400, estimated_left_ms: 6919 },
      { event: 'progress', done: 335, total: 400, estimated_left_ms: 1944 },
    ]);
  });

  it('is nothing for people who read it later', () => {
    expect(written({ isTTY: false, form: 'text' }, { total: 400, stepMs: 30 })).toBe('');
  });
});
