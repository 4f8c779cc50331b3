/** Runs trials of guardrails for the Admin API, a few at a time. */
import type { AdminDeps } from '../admin/request/deps.ts';
import { Searches } from '../guardrails/searches.ts';
import { tryGuardrail } from '../guardrails/trial.ts';
import type { Outbound } from '../upstream/outbound.ts';

/** Trials at a time, so that they do not delay other requests. */
const trialsMax = 4;

/** Disposal ends the thread of searches. */
export type GuardrailTrials = AdminDeps['guardrailTrials'] & Disposable;

export function createGuardrailTrials(outbound: Outbound): GuardrailTrials {
  const searches = new Searches();
  let running = 0;
  return {
    run: async (definition, tried) => {
      if (running >= trialsMax) return null;
      running += 1;
      try {
        return await tryGuardrail(definition, tried, { searches, outbound });
      } finally {
        running -= 1;
      }
    },
    [Symbol.dispose]: () => searches[Symbol.dispose](),
  };
}
