/** Verifies when a gateway polls for changes: soon while it is used, and by itself. */
import { describe, expect, it } from 'vitest';
import { Generations } from '../../../../src/gateway/callers/generations.ts';
import { eventually } from '../../../support/server/eventually.ts';

/** Far longer than a test may take. */
const neverMs = 10_000_000;

function generationsWith(periods: {
  readonly pollMs: number;
  readonly idlePollMs: number;
  readonly isAwaited?: () => boolean;
}) {
  const polls: (readonly string[])[] = [];
  const changed: string[] = [];
  const answer = new Map([['one', 'A']]);
  const generations = new Generations({
    ...periods,
    load: async (held) => {
      polls.push([...held.keys()]);
      return answer;
    },
    graceMs: 60_000,
    onFailure: () => undefined,
    onChange: (id) => changed.push(id),
    configuration: {
      isDatabaseAway: () => false,
      suspectDatabase: () => undefined,
      hasSnapshot: () => false,
      snapshotGeneration: () => undefined,
    },
  });
  return { generations, polls, changed, answer };
}

describe('the poll for changes', () => {
  it('comes soon when values are used again, however long the process was idle', async () => {
    const { generations, polls } = generationsWith({ pollMs: 1, idlePollMs: neverMs });
    generations.start();
    expect(polls).toEqual([]);
    generations.isValid('one', 'A');
    await eventually(() => expect(polls).toHaveLength(1));
    await generations.close();
  });

  it('continues without any use and before the first caller', async () => {
    const { generations, polls } = generationsWith({ pollMs: neverMs, idlePollMs: 1 });
    generations.start();
    await eventually(() => expect(polls.length).toBeGreaterThan(2));
    await generations.close();
  });

  it('comes soon while a client waits for changes, without any use', async () => {
    const { generations, polls } = generationsWith({
      pollMs: 1,
      idlePollMs: neverMs,
      isAwaited: () => true,
    });
    generations.start();
    await eventually(() => expect(polls.length).toBeGreaterThan(2));
    await generations.close();
  });

  it('comes soon after one that found a change', async () => {
    const { generations, polls, changed, answer } = generationsWith({
      pollMs: 1,
      idlePollMs: neverMs,
    });
    generations.note('one', 'A');
    answer.set('one', 'B');
    await generations.refresh();
    expect(changed).toEqual(['one']);
    generations.isValid('one', 'B');
    await eventually(() => expect(polls.length).toBeGreaterThan(1));
    await generations.close();
  });
});
