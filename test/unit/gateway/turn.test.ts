/** Checks the order in which waiting requests proceed. */
import { expect, it } from 'vitest';
import {
  addActiveRequest,
  removeActiveRequest,
  waitForTurn,
} from '../../../src/gateway/transfer/turn-batches.ts';

function walkers(names: readonly string[]) {
  const steps: string[] = [];
  const walk = async (name: string): Promise<void> => {
    addActiveRequest();
    for (const step of [1, 2]) {
      await waitForTurn();
      steps.push(`${name}${step}`);
    }
    removeActiveRequest();
  };
  return { steps, walked: Promise.all(names.map(walk)) };
}

it('releases all waiting requests together in their order, and later ones in the next turn', async () => {
  const { steps, walked } = walkers(['a', 'b', 'c']);
  await walked;
  expect(steps).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
});

it('waits for a turn while another request is active', async () => {
  addActiveRequest();
  const steps: string[] = [];
  const { walked } = walkers(['a']);
  setImmediate(() => steps.push('turn'));
  await walked;
  expect(steps).toEqual(['turn']);
  removeActiveRequest();
});

it('releases a single request at once', async () => {
  const { steps, walked } = walkers(['a']);
  setImmediate(() => steps.push('turn'));
  await walked;
  expect(steps).toEqual(['a1', 'a2']);
});
