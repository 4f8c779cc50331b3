/** Verifies that long works which run at the same time share the turns of the event loop. */
import { describe, expect, it } from 'vitest';
import { LoopTurns, nextTurn, runInTurns } from '../../src/slices.ts';

/** Uses more time than a turn has. */
function spend(): void {
  const began = performance.now();
  while (performance.now() - began < 6);
}

/** The most steps that all works make in one turn. */
async function stepsPerTurn(
  works: readonly ((step: () => void) => Promise<unknown>)[],
): Promise<number> {
  let [steps, most] = [0, 0];
  let isDone = false;
  const count = (): void => {
    most = Math.max(most, steps);
    steps = 0;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const step = (): void => {
    spend();
    steps += 1;
  };
  await Promise.all(works.map((work) => work(step)));
  isDone = true;
  return Math.max(most, steps);
}

const inSlices = (step: () => void) =>
  runInTurns(
    (function* () {
      for (let at = 0; at < 3; at += 1) {
        step();
        yield;
      }
    })(),
  );

async function inLoop(step: () => void): Promise<void> {
  await nextTurn();
  const turns = new LoopTurns();
  for (let at = 0; at < 3; at += 1) {
    const turn = turns.next();
    if (turn !== undefined) await turn;
    step();
  }
}

describe('a turn of the event loop', () => {
  it.each([
    ['works in slices', Array.from({ length: 8 }, () => inSlices)],
    [
      'works in slices and loops',
      Array.from({ length: 8 }, (_, at) => [inSlices, inLoop][at % 2]!),
    ],
  ])('has one step of %s', async (_, works) => {
    expect(await stepsPerTurn(works)).toBe(1);
  });

  it('resumes all short works that wait', async () => {
    let done = 0;
    const short = () =>
      runInTurns(
        (function* () {
          yield;
          done += 1;
        })(),
      );
    await Promise.all(Array.from({ length: 500 }, short));
    expect(done).toBe(500);
  });
});
