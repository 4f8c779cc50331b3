/** Lets one process return what others lack, as the queue of a running process does from time to time. */
import type { LimitBank } from '../../../src/ledger/limit-bank.ts';
import type { OrganisationSlices } from '../../../src/ledger/organisation-slices.ts';

export async function recallWanted(
  bank: Pick<LimitBank, 'listWanted'>,
  slices: OrganisationSlices,
): Promise<void> {
  const { recallable } = slices;
  if (recallable === null) return;
  const wanted = await bank.listWanted([recallable]);
  if (wanted.length > 0) slices.recall(wanted);
}
