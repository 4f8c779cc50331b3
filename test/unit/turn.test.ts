/** Guarantees in which order requests go on that have waited for each other. */
import { expect, it } from 'vitest';
import { untilAllIsRead } from '../../src/gateway/transfer/turn.ts';

it('lets those go on together who wait, in their order, and those who wait again in the next turn', async () => {
  const steps: string[] = [];
  const walk = async (name: string): Promise<void> => {
    for (const step of [1, 2]) {
      await untilAllIsRead();
      steps.push(`${name}${step}`);
    }
  };
  await Promise.all(['a', 'b', 'c'].map(walk));
  expect(steps).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
});
