/** Deletes a live resource; one that is already gone counts as deleted. */

import type { LiveResource } from '../resources/resource-set.ts';
import { ApiRefusal } from '../server/refusal.ts';
import type { ChangeChannel } from './channel.ts';
import { type ChangeContext, deleteChange } from './requests.ts';
import { changedMeanwhile, StaleResourceError } from './stale-resource-error.ts';

export interface DeletionTerms {
  /** Id of the planned change. */
  readonly id: string;
  readonly channel: ChangeChannel;
  readonly wireOf: (resolve: ChangeContext['resolve']) => ChangeContext;
}

/** @throws Stale, ApiRefusal, Failure */
export async function deleteLive(
  live: LiveResource,
  { id, channel, wireOf }: DeletionTerms,
): Promise<void> {
  try {
    await channel.send(id, (resolve) => [deleteChange(live, wireOf(resolve))]);
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    if (error.status === 412) throw new StaleResourceError(changedMeanwhile);
    if (error.status !== 404 || channel.isAtomic) throw error;
  }
}
