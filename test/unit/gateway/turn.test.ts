/** Guarantees in which order requests go on that have waited for each other. */
import { expect, it } from 'vitest';
import { trackActiveRequest, waitForTurn } from '../../../src/gateway/transfer/turn-batches.ts';

function walkers(names: readonly string[]) {
  const steps: string[] = [];
  const walk = async (name: string): Promise<void> => {
    const countOut = trackActiveRequest();
    for (const step of [1, 2]) {
      await waitForTurn();
      steps.push(`${name}${step}`);
    }
    countOut();
  };
  return { steps, walked: Promise.all(names.map(walk)) };
}

it('lets those go on together who wait, in their order, and those who wait again in the next turn', async () => {
  const { steps, walked } = walkers(['a', 'b', 'c']);
  await walked;
  expect(steps).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
});

it('counts a request out once, however often it is said', async () => {
  const [first, second] = [trackActiveRequest(), trackActiveRequest()];
  for (let at = 0; at < 3; at += 1) first();
  const steps: string[] = [];
  const { walked } = walkers(['a']);
  setImmediate(() => steps.push('turn'));
  await walked;
  expect(steps).toEqual(['turn']);
  second();
});

it('lets the only one go on at once', async () => {
  const { steps, walked } = walkers(['a']);
  setImmediate(() => steps.push('turn'));
  await walked;
  expect(steps).toEqual(['a1', 'a2']);
});
