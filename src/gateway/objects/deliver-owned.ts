/** Delivers the outcome of a request about objects and records what it created or deleted. */
import type { ResponseWriter } from '../../objects/responses/response-writer.ts';
import type * as ownedObjects from '../../store/objects/owned-objects.ts';
import { deliver } from '../calls/deliver.ts';
import type { TargetOutcome } from '../calls/outcome.ts';
import type { RequestContext } from '../calls/request-context.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { extractorOf, mayReturnObjects } from '../references/response-objects.ts';
import { deliverRecorded } from './deliver-recorded.ts';
import { isInBackground, responseRecorder } from './new-response.ts';
import { type ObjectRecorder, objectRecorder, recordDeletion } from './object-recorder.ts';
import { withCharges } from './open-charges.ts';
import type { OwnedLookup } from './owned-lookup.ts';
import type { PendingObject } from './pending-object.ts';

interface OwnedDelivery {
  readonly owned: OwnedPath;
  readonly lookup: OwnedLookup;
  /** The requested object when a provider has it. */
  readonly row: ownedObjects.OwnedObject | null;
  /** The object that the provider was asked to create; null when its creation is not tracked. */
  readonly pending: PendingObject | null;
  /** Stores the response if the gateway creates it; null when it is not stored. */
  readonly keeping: ResponseWriter | null;
  /** Whether the gateway composed the response as a list. */
  readonly isListed: boolean;
}

export async function deliverOwned(
  context: RequestContext,
  outcome: TargetOutcome,
  delivery: OwnedDelivery,
): Promise<void> {
  const { owned, lookup, row, keeping, isListed } = delivery;
  const { exchange } = context;
  const { status, target } = outcome;
  const hasSucceeded = status >= 200 && status <= 299;
  const isDeletion = exchange.request.method === 'DELETE' && owned.rest.length === 0;
  if (hasSucceeded && row !== null && isDeletion) {
    await recordDeletion(lookup.db, row, exchange.now);
  }
  if (isListed || !hasSucceeded) return deliver(context, outcome);
  // A response translated from a chat completion exists only in the gateway.
  const isCreatedHere = exchange.newResponse !== undefined && target.translator !== null;
  if (isCreatedHere && keeping === null) return deliver(context, outcome);
  const recorder = isCreatedHere
    ? responseRecorder(keeping!)
    : await recorderOf(context, outcome, delivery);
  if (recorder === null) return deliver(context, outcome);
  const record = isCreatedHere && isInBackground(exchange) ? () => keeping!.record : null;
  return deliverRecorded(context, outcome, recorder, record);
}

/** Null when the response contains nothing to record. */
function recorderOf(
  context: RequestContext,
  outcome: TargetOutcome,
  { owned, lookup, pending }: OwnedDelivery,
): Promise<ObjectRecorder | null> {
  const { database, db, owner } = lookup;
  const { method } = context.exchange.request;
  const { target } = outcome;
  const recorder = mayReturnObjects(owned, method)
    ? objectRecorder(context, extractorOf(owned, method), { db, owner, target, pending })
    : null;
  return withCharges(context, owned, outcome, { database, owner, recorder });
}
