/** Verifies that due subjects are processed in batches, and that one which fails blocks no other. */
import { describe, expect, it } from 'vitest';
import { countsOf, type FailedSubject, workThrough } from '../../../src/jobs/runner/due-work.ts';
import { type JobContext, PartialRun, RunLost } from '../../../src/jobs/runner/job.ts';

interface Subject {
  readonly id: number;
  readonly group: string;
}

/** Works through subjects; `fail` throws for a batch that cannot be processed. */
async function run(
  subjects: readonly Subject[],
  fail: (batch: readonly Subject[]) => void = () => {},
  stop = new AbortController(),
) {
  const batches: (readonly Subject[])[] = [];
  const logged: unknown[] = [];
  const done = new Set<Subject>();
  const log = { error: (fields: unknown) => logged.push(fields) };
  const context = { signal: stop.signal, log } as unknown as JobContext;
  const failures = await workThrough<Subject>(context, {
    list: async (limit, except) =>
      subjects.filter((one) => !done.has(one) && !except.includes(one)).slice(0, limit),
    groupKey: ({ group }) => group,
    work: async (batch) => {
      fail(batch);
      batches.push(batch);
      for (const one of batch) done.add(one);
    },
    describe: ({ id }) => `Subject ${id}`,
  });
  return { failures, batches, logged, done };
}

const subjectsOf = (count: number, group = 'a'): Subject[] =>
  Array.from({ length: count }, (_, id) => ({ id, group }));

describe('workThrough', () => {
  it('processes every subject once, in batches of at most 250 of one group', async () => {
    const { batches, done, failures } = await run([...subjectsOf(600), ...subjectsOf(3, 'b')]);
    expect(batches.map((batch) => [batch[0]!.group, batch.length])).toEqual([
      ['a', 250],
      ['a', 250],
      ['a', 100],
      ['b', 3],
    ]);
    expect([done.size, failures]).toEqual([603, []]);
  });

  it('repeats a failed batch one by one, logs what fails again, and goes on', async () => {
    const failing = (batch: readonly Subject[]) => {
      if (batch.some(({ id }) => id === 2)) throw new Error('locked');
    };
    const { done, failures, logged } = await run(subjectsOf(5), failing);
    expect([...done].map(({ id }) => id)).toEqual([0, 1, 3, 4]);
    expect(failures.map(({ name, error }) => [name, (error as Error).message])).toEqual([
      ['Subject 2', 'locked'],
    ]);
    expect(logged).toMatchObject([{ subject: 'Subject 2', err: { message: 'locked' } }]);
  });

  it('ends when more than 50 subjects have failed, because the cause is elsewhere', async () => {
    const always = () => {
      throw new Error('no database');
    };
    expect((await run(subjectsOf(51), always)).failures).toHaveLength(51);
    await expect(run(subjectsOf(52), always)).rejects.toThrow('no database');
  });

  it('ends at once when another process has taken the run over', async () => {
    let calls = 0;
    const lost = () => {
      calls += 1;
      throw new RunLost();
    };
    await expect(run(subjectsOf(5), lost)).rejects.toThrow(RunLost);
    expect(calls).toBe(1);
  });

  it('begins no further batch when it must stop', async () => {
    const stop = new AbortController();
    const { batches } = await run(subjectsOf(600), () => stop.abort(), stop);
    expect(batches).toHaveLength(1);
    const before = await run(subjectsOf(5), undefined, stop);
    expect(before.batches).toEqual([]);
  });
});

describe('countsOf', () => {
  const failed = (name: string, error: unknown): FailedSubject => ({ name, error });

  it('returns the counts of a run without failures', () => {
    expect(countsOf({ expired: 3 }, [])).toEqual({ expired: 3 });
  });

  it('throws the counts, the first failure, and the number of the others', () => {
    const one = failed('Subject 2', new Error('locked'));
    const thrownBy = (failures: readonly FailedSubject[]) => {
      try {
        countsOf({ expired: 3 }, failures);
      } catch (error) {
        return error as PartialRun;
      }
      throw new Error('nothing was thrown');
    };
    expect(thrownBy([one])).toBeInstanceOf(PartialRun);
    expect(thrownBy([one]).message).toBe('Subject 2 could not be processed: locked');
    expect(thrownBy([one]).counts).toEqual({ expired: 3, failed: 1 });
    const more = thrownBy([failed('Subject 1', 'no reason'), one, one]);
    expect(more.message).toBe('Subject 1 and 2 more could not be processed: no reason');
    expect(more.counts).toEqual({ expired: 3, failed: 3 });
  });
});
