/** Tests that three gateways and a crowd of callers never exceed a limit, and can use it completely. */
import { expect, it } from 'vitest';
import { newSeed, runGate, tell } from '../../gate/run-gate.ts';

it('keeps a cost limit to the micro-dollar with abandoned streams, cut responses, a window change and a kill', async () => {
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
