/** Tests that limits hold on a Vitess with two shards when a gateway dies and the window turns over. */
import { expect, it } from 'vitest';
import { newSeed, runGate, tell } from '../gate/run-gate.ts';

it('limits of cost and of requests are kept to the unit by three gateways, of which one dies, while the window turns over', async () => {
  const report = await runGate({
    seed: newSeed(),
    callers: 20,
    outputTokensMost: 4_000,
    killAfter: 100,
    terms: { key: { type: 'cost', units: 1_000_000 }, policy: { type: 'requests', units: 1_000 } },
    turns: true,
  });
  tell(report);
  expect(report.usedShare).toBeGreaterThan(0.95);
});
