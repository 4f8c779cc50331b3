/** Knows how one planned change is carried out, and what its refusal or its lost answer means. */
import { isDeepStrictEqual } from 'node:util';
import { loadBody } from '../../model/bodies.ts';
import type { Plan, PlannedChange } from '../plan/planned.ts';
import type { AdminClient, ApiResponse } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { type DesiredResource, identityKey, type LiveResource } from '../spec/resource-set.ts';
import { rotateKey } from './key-rotation.ts';
import { type HeldLease, isFencedOff } from './owner-lease.ts';
import {
  createRequest,
  deleteRequest,
  type RequestContext,
  type Target,
  updateRequest,
  type WireRequest,
} from './requests.ts';
import type { Delivery, SecretOutput } from './secret-output.ts';
import { Stale } from './stale.ts';

export interface WriterContext {
  readonly client: AdminClient;
  /** Of the plan's owner; every write carries its fence. */
  readonly lease: HeldLease;
  readonly secretOutput: SecretOutput | null;
  /** Reads the server anew: live resources by identity key, as in the plan. */
  readonly lookAgain: () => Promise<ReadonlyMap<string, LiveResource>>;
  /** Ends waiting and repeating; what is under way is finished. */
  readonly signal?: AbortSignal | undefined;
}

export class ChangeWriter {
  readonly #plan: Plan;
  readonly #context: WriterContext;
  readonly #wire: RequestContext;
  readonly #targets: Map<string, Target>;

  constructor(plan: Plan, context: WriterContext) {
    this.#plan = plan;
    this.#context = context;
    this.#targets = new Map(plan.live);
    this.#wire = {
      owner: plan.owner,
      source: plan.source,
      resolve: (key) => this.#targets.get(key),
    };
  }

  /**
   * Yields the id of the resource on the server.
   *
   * @throws Stale, ApiRefusal, Failure
   */
  async write(change: PlannedChange): Promise<string> {
    const { live, desired } = change;
    switch (change.action) {
      case 'create':
        return this.#create(desired!, null);
      case 'update':
      case 'adopt':
        return this.#update(change);
      case 'replace':
        return this.#create(desired!, live);
      case 'delete':
        await this.#remove(live!);
        return live!.id;
      case 'rotate':
        return this.#rotate(change);
      case 'retain':
        return live!.id;
    }
  }

  /** The value of a key is safe before the key exists, and before the one that it replaces goes. */
  async #create(desired: DesiredResource, replaced: LiveResource | null): Promise<string> {
    const output = desired.secretOutput === null ? null : this.#context.secretOutput;
    const delivery = (await output?.prepare(desired, replaced?.id ?? null)) ?? null;
    let made: Target;
    try {
      if (replaced !== null) await this.#delete(replaced);
      const wire = createRequest(desired, this.#wire, false, delivery?.value.reveal());
      made = targetOf(await this.#send(wire));
    } catch (error) {
      made = await this.#outcomeOf(desired, delivery, error);
    }
    this.#targets.set(identityKey(desired.identity), made);
    await delivery?.deliver();
    return made.id;
  }

  /**
   * What a create that failed has come to: refused as a duplicate it may still be this run's own, made
   * by an earlier try whose answer was lost. Where it certainly is not, no trace of it is left.
   */
  async #outcomeOf(
    desired: DesiredResource,
    delivery: Delivery | null,
    error: unknown,
  ): Promise<Target> {
    const isCertain = error instanceof ApiRefusal || error instanceof Stale;
    if (!isCertain) throw error;
    if (!(error instanceof ApiRefusal) || error.status !== 409) {
      const wasSent = error instanceof ApiRefusal && error.maybeDone;
      if (!wasSent) await delivery?.abandon();
      throw error;
    }
    const found = (await this.#context.lookAgain()).get(identityKey(desired.identity));
    if (found === undefined) await delivery?.abandon();
    else if (await this.#isOwn(desired, delivery, found, error)) return found;
    if (isFencedOff(error) || found?.owner !== this.#plan.owner) throw error;
    throw new Stale('another run has made it meanwhile; run it again');
  }

  async #isOwn(
    desired: DesiredResource,
    delivery: Delivery | null,
    found: LiveResource,
    refusal: ApiRefusal,
  ): Promise<boolean> {
    const looksOwn =
      refusal.maybeDone &&
      found.owner === this.#plan.owner &&
      isDeepStrictEqual(found.base, desired.spec);
    if (delivery === null) return looksOwn;
    const isProven = await delivery.isOf(found.id);
    if (isProven === false) await delivery.abandon();
    return isProven ?? looksOwn;
  }

  async #update(change: PlannedChange): Promise<string> {
    const live = change.live!;
    const desired = change.desired!;
    try {
      const schema = await loadBody(desired.identity.kind);
      await this.#send(updateRequest(change, this.#wire, schema));
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      if (error.status === 404) throw new Stale('it is gone from the server; run it again');
      if (error.status !== 412) throw error;
      const now = (await this.#context.lookAgain()).get(identityKey(change.identity));
      const isOurs = error.maybeDone && isDeepStrictEqual(now?.base, desired.spec);
      if (!isOurs) throw new Stale(changedMeanwhile);
    }
    if (change.reason === 'rename' && desired.secretOutput !== null) {
      await this.#context.secretOutput?.follow(desired, live.id);
    }
    return live.id;
  }

  /** What else differs goes before, so that the terms of the rotation are those of the manifest. */
  async #rotate(change: PlannedChange): Promise<string> {
    if (change.fields.length > 0 || change.reason === 'rename') await this.#update(change);
    const { secretOutput: output } = this.#context;
    await rotateKey(change, { output, wire: this.#wire, send: (request) => this.#send(request) });
    return change.live!.id;
  }

  #remove(live: LiveResource): Promise<void> {
    const { secretOutput: output } = this.#context;
    const remove = (): Promise<void> => this.#delete(live);
    const isKey = live.identity.kind === 'ApiKey' && output !== null;
    return isKey ? output.deletion.delete(live.id, remove) : remove();
  }

  /** Gone already is as good. */
  async #delete(live: LiveResource): Promise<void> {
    try {
      await this.#send(deleteRequest(live, this.#wire));
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      if (error.status === 412) throw new Stale(changedMeanwhile);
      if (error.status !== 404) throw error;
    }
  }

  #send(request: WireRequest): Promise<ApiResponse> {
    const { client, lease, signal } = this.#context;
    return client.request({ ...request, fence: lease.fence, signal });
  }
}

const changedMeanwhile = 'it was changed on the server since the plan; run it again';

function targetOf({ body }: ApiResponse): Target {
  const fields = body as { id?: unknown; map_id?: unknown; slug?: unknown } | null;
  const id = fields?.id ?? fields?.map_id;
  if (typeof id !== 'string') {
    const fault = { message: 'its answer holds no id', code: '', param: '' };
    throw new ApiRefusal(200, fault, true);
  }
  return { id, slug: typeof fields?.slug === 'string' ? fields.slug : null };
}
