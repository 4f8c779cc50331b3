/**
 * Checks that progress is shown at a terminal and in JSON mode, at a limited rate, and leaves no
 * traces.
 */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Progress } from '../../../src/commands/shared/progress.ts';
import { TextOutput } from '../../../src/commands/shared/text-output.ts';

/** Returns the output for the given number of changes, one each `stepMs`. */
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

/** The final content of a terminal: each line as last overwritten. */
function screen(text: string): string[] {
  return text.split('\n').map((line) =>
    line
      .split('\r')
      .reduce((displayed, part) => part + displayed.slice(part.length), '')
      .trimEnd(),
  );
}

const terminal = { isTTY: true, form: 'text' } as const;

describe('progress at a terminal', () => {
  it('shows changes done, all changes and the time left in one line, at most ten times a second', () => {
    const text = written(terminal, { total: 400, stepMs: 25 });
    const lines = text.split('\r').filter((line) => line.trim() !== '');
    expect(lines[0]?.trim()).toBe('21 of 400 changes');
    expect(lines.at(-1)?.trim()).toMatch(/^39\d of 400 changes, about 1 s left$/);
    expect(lines.length).toBeLessThanOrEqual(100);
    expect(lines.find((line) => line.includes('101 of 400'))?.trim()).toBe(
      '101 of 400 changes, about 7 s left',
    );
  });

  it('disappears at the end, and before any other output', () => {
    expect(screen(written(terminal, { total: 400, stepMs: 25 }))).toEqual(['']);
    expect(screen(written(terminal, { total: 400, stepMs: 25 }, 'waiting\n'))).toEqual([
      'waiting',
      '',
    ]);
  });

  it('shows nothing for a run that finishes at once', () => {
    expect(written(terminal, { total: 40, stepMs: 10 })).toBe('');
  });
});

describe('progress elsewhere', () => {
  it('writes an event every five seconds in JSON mode', () => {
    const lines = written({ isTTY: false, form: 'json' }, { total: 400, stepMs: 30 })
      .trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { event: 'progress', done: 168, total: 400, estimated_left_ms: 6919 },
      { event: 'progress', done: 335, total: 400, estimated_left_ms: 1944 },
    ]);
  });

  it('writes nothing for people who read the output later', () => {
    expect(written({ isTTY: false, form: 'text' }, { total: 400, stepMs: 30 })).toBe('');
  });
});
