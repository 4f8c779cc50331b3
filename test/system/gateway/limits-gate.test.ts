/** Guarantees that three gateways and a crowd of callers never use more than a limit says, and that it can be used to its end. */
import { expect, it } from 'vitest';
import { newSeed, runGate, tell } from '../../gate/run-gate.ts';

it('a limit of cost holds to the micro-dollar while streams are left, answers are cut, the window turns over and a gateway is killed', async () => {
  const seed = newSeed();
  const report = await runGate({
    seed,
    callers: 24,
    outputTokensMost: 8_000,
    terms: { key: { type: 'cost', units: 1_000_000 } },
    turns: true,
    killAfter: 100 + (seed % 100),
  });
  tell(report);
  expect(report.usedShare).toBeGreaterThan(0.95);
});
