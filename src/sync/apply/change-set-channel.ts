/** Sends many changes in one request and gives each change its own result. */
import { detach } from '../../detached.ts';
import type { PlannedChange } from '../plan/plan-model.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { ChangeSetDraft, type SetOutcome, sendChangeSet } from './change-set.ts';
import type { ChangeChannel, ChangeResponse, ChannelContext, LiveByKey } from './channel.ts';
import type { ChangeContext } from './requests.ts';

export interface SetContext extends ChannelContext {
  readonly isAtomic: boolean;
  /** Finds existing resources by identity key. */
  readonly resolve: ChangeContext['resolve'];
}

/** A change that waits to be sent. */
interface WaitingChange {
  readonly id: string;
  readonly make: Parameters<ChangeChannel['send']>[1];
  readonly response: PromiseWithResolvers<ChangeResponse>;
}

/**
 * Sends the changes of its members together, once every member either waits for a result or has
 * ended. Requests that a member sends after a result go into the next request.
 */
export class ChangeSetChannel implements ChangeChannel {
  readonly #context: SetContext;
  readonly #members: ReadonlyMap<string, PlannedChange>;
  /** Members that have ended, and whether they succeeded. */
  readonly #over = new Map<string, boolean>();
  /** Members of which an earlier attempt may have been carried out. */
  readonly #maybeDone = new Set<string>();
  readonly #waiting = new Map<string, WaitingChange>();
  /** Number of members that neither wait nor have ended. */
  #busy: number;
  #seenAgain: Promise<LiveByKey> | null = null;

  /** @param members in execution order; each of them is then passed to `run` */
  constructor(members: readonly PlannedChange[], context: SetContext) {
    this.#context = context;
    this.#members = new Map(members.map((member) => [member.id, member]));
    this.#busy = members.length;
  }

  get isAtomic(): boolean {
    return this.#context.isAtomic;
  }

  /** Runs the work of a member from beginning to end. */
  async run<T>(member: PlannedChange, work: () => Promise<T>): Promise<T> {
    let isDone = false;
    try {
      const result = await work();
      isDone = true;
      return result;
    } finally {
      this.#over.set(member.id, isDone);
      this.#pause();
    }
  }

  send(id: string, make: WaitingChange['make']): Promise<ChangeResponse> {
    const response = Promise.withResolvers<ChangeResponse>();
    this.#waiting.set(id, { id, make, response });
    this.#pause();
    return response.promise;
  }

  /** Reads the server once for all members that need it after one request. */
  lookAgain(): Promise<LiveByKey> {
    this.#seenAgain ??= this.#context.lookAgain();
    return this.#seenAgain;
  }

  /** Called when a member waits or has ended. */
  #pause(): void {
    this.#busy -= 1;
    if (this.#busy === 0 && this.#waiting.size > 0) this.#send();
  }

  /** An unexpected error fails every change that waits for this set. */
  #send(): void {
    const sending = this.#sendAll().catch((error: unknown) => {
      for (const { response } of this.#waiting.values()) response.reject(error);
      this.#waiting.clear();
    });
    detach('sending a change set', sending);
  }

  async #sendAll(): Promise<void> {
    const draft = new ChangeSetDraft(this.#context);
    for (const id of this.#members.keys()) {
      const one = this.#waiting.get(id);
      if (one !== undefined) this.#put(one, draft);
    }
    this.#seenAgain = null;
    const sent = draft.ids;
    this.#busy += sent.length;
    if (sent.length === 0) return;
    const outcomes = await sendChangeSet(draft, this.#context);
    const isStuck = sent.every((id) => 'notBegun' in outcomes.get(id)!);
    for (const id of sent) this.#tell(id, isStuck ? neverBegun : outcomes.get(id)!);
    if (this.#busy === 0) this.#send();
  }

  /**
   * Adds the change to the set, leaves it for the next one, or rejects it when a dependency failed.
   */
  #put(one: WaitingChange, draft: ChangeSetDraft): void {
    const needed = this.#members.get(one.id)!.dependsOn.filter((id) => this.#members.has(id));
    if (needed.some((id) => this.#over.get(id) === false)) {
      this.#busy += 1;
      this.#take(one.id).response.reject(notDone());
      return;
    }
    const before = needed.filter((id) => !this.#over.has(id));
    if (!before.every((id) => draft.has(id))) return;
    try {
      draft.add(one.id, before, one.make);
    } catch (error) {
      this.#busy += 1;
      this.#take(one.id).response.reject(error);
    }
  }

  #tell(id: string, outcome: SetOutcome): void {
    if (outcome.maybeDone) this.#maybeDone.add(id);
    if ('notBegun' in outcome) {
      this.#busy -= 1;
      return;
    }
    const { response } = this.#take(id);
    const maybeDone = this.#maybeDone.has(id);
    if ('thrown' in outcome) response.reject(outcome.thrown);
    else if ('refused' in outcome) {
      const { status, fields } = outcome.refused;
      response.reject(new ApiRefusal(status, fields, maybeDone));
    } else response.resolve({ body: outcome.body });
  }

  #take(id: string): WaitingChange {
    const one = this.#waiting.get(id)!;
    this.#waiting.delete(id);
    return one;
  }
}

const neverBegun: SetOutcome = {
  refused: {
    status: 503,
    fields: { message: 'it starts none of the changes in the request', code: '', param: '' },
  },
  maybeDone: true,
};

/** The error that the server returns for changes that depend on a refused one. */
function notDone(): ApiRefusal {
  const message = 'another change that it depends on was not done';
  return new ApiRefusal(424, { message, code: '', param: '' }, false);
}
