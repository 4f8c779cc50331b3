/** Model provider of the gauntlet: appends each request to its journal before it responds, and fails as ordered. */

import { startJournal } from '../../gate/journal.ts';
import type { PlanKind, ProviderInstructions } from '../../gate/plan.ts';
import { readOrders, record, reportReady } from './orders.ts';

/** The provider fails like this until the next order; null for as each request instructs. */
export interface ProviderOrder {
  readonly failure: 'storm' | 'cut' | 'silent' | 'reset' | 'mute' | 'garbage' | 'late' | null;
}

const [port, journalPath] = process.argv.slice(2);
/** Longer than callers that go wait. */
const lateMs = 3_000;
let failure: ProviderOrder['failure'] = null;

function behave({ kind }: ProviderInstructions): PlanKind {
  const isStream = kind === 'stream' || kind === 'left';
  // The usage of a stream is in its last event, which `cut` leaves out.
  if (failure === null || failure === 'late' || (failure === 'silent' && isStream)) return kind;
  return failure;
}

const journal = await startJournal({
  lostEvery: Number.POSITIVE_INFINITY,
  port: Number(port),
  behave,
  delayMs: () => (failure === 'late' ? lateMs : 0),
});
journal.onEntry = (entry) => record(journalPath!, entry);
readOrders<ProviderOrder>((order) => {
  failure = order.failure;
});
reportReady({ port: Number(port) });
