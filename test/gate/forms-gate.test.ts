/** Tests limits of tokens and cost under requests of every form that the gateway accepts, with disconnects and a kill. */
import { expect, it } from 'vitest';
import { type FormName, requestForms } from './forms.ts';
import { newSeed, runGate, tell } from './run-gate.ts';

it('holds cost and token limits for requests of every form, through disconnects and a kill -9 of a gateway', async () => {
  const seed = newSeed();
  const forms = Object.keys(requestForms) as FormName[];
  const report = await runGate({
    seed,
    callers: 100,
    outputTokensMost: 1_000,
    forms,
    // A cancelled call may have used more than what arrived of its stream.
    variables: { GATEWRIGHT_ABORTED_STREAM_CHARGE: 'reserved' },
    terms: {
      key: { type: 'cost', units: 1_000_000 },
      workspace: { type: 'tokens', units: 700_000 },
    },
    killAfter: 300 + (seed % 300),
  });
  tell(report);
  expect(report.usedShare).toBeGreaterThan(0.95);
  expect(report.falselyRefused.map(({ plan }) => plan.form)).toEqual([]);
});
