/**
 * Creates a resource, for keys after storing their value, and interprets a refusal or lost
 * response.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PlannedChange } from '../plan/plan-model.ts';
import { type DesiredResource, identityKey, type LiveResource } from '../resources/resource-set.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { RequestPace } from '../server/request-pace.ts';
import type { ChangeChannel, ChangeResponse } from './channel.ts';
import { type DeletionTerms, deleteLive } from './deletion.ts';
import { isFencedOff } from './owner-lease.ts';
import { createChange, deleteChange, type Target } from './requests.ts';
import type { Delivery, SecretOutput } from './secret-output.ts';
import { StaleResourceError } from './stale-resource-error.ts';

interface CreationContext extends Pick<DeletionTerms, 'wireOf'> {
  /** The owner of the plan. */
  readonly owner: string;
  readonly secretOutput: SecretOutput | null;
}

/** Maximum number of values that are delivered concurrently. */
const deliveriesMax = 64;

export class Creation {
  readonly #context: CreationContext;
  readonly #deliveries = new RequestPace({ start: deliveriesMax, max: deliveriesMax });

  constructor(context: CreationContext) {
    this.#context = context;
  }

  /**
   * Stores the value of a key before the key is created, and before the key that it replaces is
   * deleted.
   */
  async create(change: PlannedChange, channel: ChangeChannel): Promise<Target> {
    const { secretOutput, wireOf } = this.#context;
    const { id, live: replaced } = change;
    const desired = change.desired!;
    const output = desired.secretOutput === null ? null : secretOutput;
    const prepared = this.#deliveries.take(async () =>
      output?.prepare(desired, replaced?.id ?? null),
    );
    const delivery = (await prepared) ?? null;
    let made: Target;
    try {
      if (replaced !== null && !channel.isAtomic)
        await deleteLive(replaced, { id, channel, wireOf });
      const answer = await channel.send(id, (resolve) => {
        const wire = wireOf(resolve);
        const create = createChange(desired, wire, delivery?.value.reveal());
        const goesWith = replaced !== null && channel.isAtomic;
        return goesWith ? [deleteChange(replaced, wire), create] : [create];
      });
      made = targetOf(answer);
    } catch (error) {
      made = await this.#outcomeOf(desired, delivery, channel, error);
    }
    if (delivery !== null) await this.#deliveries.take(() => delivery.deliver());
    return made;
  }

  /**
   * Determines the outcome of a failed create. A refused duplicate may come from an earlier attempt
   * of this run whose response was lost. If it certainly does not, the stored value is removed.
   */
  async #outcomeOf(
    desired: DesiredResource,
    delivery: Delivery | null,
    channel: ChangeChannel,
    error: unknown,
  ): Promise<Target> {
    const isCertain = error instanceof ApiRefusal || error instanceof StaleResourceError;
    if (!isCertain) throw error;
    if (!(error instanceof ApiRefusal) || error.status !== 409) {
      const wasSent = error instanceof ApiRefusal && error.maybeDone;
      if (!wasSent) await delivery?.abandon();
      throw error;
    }
    const found = (await channel.lookAgain()).get(identityKey(desired.identity));
    if (found === undefined) await delivery?.abandon();
    else if (await this.#isOwn(desired, delivery, found, error)) return found;
    if (isFencedOff(error) || found?.owner !== this.#context.owner) throw error;
    throw new StaleResourceError('another run has created it meanwhile; run it again');
  }

  async #isOwn(
    desired: DesiredResource,
    delivery: Delivery | null,
    found: LiveResource,
    refusal: ApiRefusal,
  ): Promise<boolean> {
    const looksOwn =
      refusal.maybeDone &&
      found.owner === this.#context.owner &&
      isDeepStrictEqual(found.base, desired.spec);
    if (delivery === null) return looksOwn;
    const isProven = await delivery.isOf(found.id);
    if (isProven === false) await delivery.abandon();
    return isProven ?? looksOwn;
  }
}

function targetOf({ body }: ChangeResponse): Target {
  const fields = body as { id?: unknown; map_id?: unknown; slug?: unknown } | null;
  const id = fields?.id ?? fields?.map_id;
  if (typeof id !== 'string') {
    const fault = { message: 'its response has no id', code: '', param: '' };
    throw new ApiRefusal(200, fault, true);
  }
  return { id, slug: typeof fields?.slug === 'string' ? fields.slug : null };
}
