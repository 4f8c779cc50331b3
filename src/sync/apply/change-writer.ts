/** Writes one planned change, and interprets a refusal or a lost response. */
import { isDeepStrictEqual } from 'node:util';
import { hasCredential } from '../../model/kinds/kinds.ts';
import { loadSpecSchema } from '../../model/kinds/spec-schemas.ts';
import type { Plan, PlannedChange } from '../plan/plan-model.ts';
import { identityKey, type LiveResource } from '../resources/resource-set.ts';
import type { ApiResponse } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { type ChangeChannel, type ChannelContext, singleChannel } from './channel.ts';
import { Creation } from './creation.ts';
import { deleteLive } from './deletion.ts';
import { rotateKey } from './key-rotation.ts';
import { type ChangeContext, type Target, updateChange, type WireRequest } from './requests.ts';
import type { SecretOutput } from './secret-output.ts';
import { changedMeanwhile, StaleResourceError } from './stale-resource-error.ts';

export interface ChangeWriterContext extends ChannelContext {
  readonly secretOutput: SecretOutput | null;
}

export class ChangeWriter {
  readonly #plan: Plan;
  readonly #context: ChangeWriterContext;
  readonly #targets: Map<string, Target>;
  readonly #creation: Creation;
  /** For changes that are sent alone. */
  readonly single: ChangeChannel;

  constructor(plan: Plan, context: ChangeWriterContext) {
    this.#plan = plan;
    this.#context = context;
    this.#targets = new Map(plan.live);
    this.single = singleChannel(context, this.resolve);
    const { secretOutput } = context;
    this.#creation = new Creation({ owner: plan.owner, secretOutput, wireOf: this.#wireOf });
  }

  readonly #wireOf = (resolve: ChangeContext['resolve']): ChangeContext => ({
    owner: this.#plan.owner,
    source: this.#plan.source,
    resolve,
  });

  /** Finds existing resources by identity key. */
  readonly resolve = (key: string): Target | undefined => this.#targets.get(key);

  /**
   * Returns the id of the resource on the server.
   *
   * @throws Stale, ApiRefusal, Failure
   */
  async write(change: PlannedChange, channel: ChangeChannel): Promise<string> {
    const { live } = change;
    switch (change.action) {
      case 'create':
      case 'replace': {
        const made = await this.#creation.create(change, channel);
        this.#targets.set(change.id, made);
        return made.id;
      }
      case 'update':
      case 'adopt':
        return this.#update(change, channel);
      case 'delete':
        await this.#remove(live!, change.id, channel);
        return live!.id;
      case 'rotate':
        return this.#rotate(change, channel);
      case 'retain':
        return live!.id;
    }
  }

  async #update(change: PlannedChange, channel: ChangeChannel): Promise<string> {
    const live = change.live!;
    const desired = change.desired!;
    const schema = await loadSpecSchema(desired.identity.kind);
    try {
      await channel.send(change.id, (resolve) => [
        updateChange(change, this.#wireOf(resolve), schema),
      ]);
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      if (error.status === 404)
        throw new StaleResourceError('it is gone from the server; run it again');
      if (error.status !== 412) throw error;
      const now = (await channel.lookAgain()).get(identityKey(change.identity));
      const isOurs = error.maybeDone && isDeepStrictEqual(now?.base, desired.spec);
      if (!isOurs) throw new StaleResourceError(changedMeanwhile);
    }
    const { slug } = desired.spec;
    if (typeof slug === 'string') this.#targets.set(change.id, { id: live.id, slug });
    if (change.reason === 'rename' && desired.secretOutput !== null) {
      await this.#context.secretOutput?.follow(desired, live.id);
    }
    return live.id;
  }

  /** Other differences are written first, so that the manifest's terms apply to the rotation. */
  async #rotate(change: PlannedChange, channel: ChangeChannel): Promise<string> {
    if (change.fields.length > 0 || change.reason === 'rename') await this.#update(change, channel);
    const { client, lease, secretOutput: output, signal } = this.#context;
    const send = (request: WireRequest): Promise<ApiResponse> =>
      client.request({ ...request, fence: lease.fence, signal });
    await rotateKey(change, { output, wire: this.#wireOf(this.resolve), send });
    return change.live!.id;
  }

  #remove(live: LiveResource, id: string, channel: ChangeChannel): Promise<void> {
    const { secretOutput: output } = this.#context;
    const wireOf = this.#wireOf;
    const remove = (): Promise<void> => deleteLive(live, { id, channel, wireOf });
    const isKey = hasCredential(live.identity.kind) && output !== null;
    return isKey ? output.deletion.delete(live.id, remove) : remove();
  }
}
