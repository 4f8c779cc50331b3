/** Knows how many changes reach the server in one request, each being told what has become of it alone. */
import type { PlannedChange } from '../plan/planned.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { ChangeSetDraft, type SetOutcome, sendChangeSet } from './change-set.ts';
import type { Channel, ChannelContext, LiveByKey, Told } from './channel.ts';
import type { RequestContext } from './requests.ts';

export interface SetContext extends ChannelContext {
  readonly isAtomic: boolean;
  /** What exists, by identity key. */
  readonly resolve: RequestContext['resolve'];
}

/** One change that waits to be sent. */
interface Waiting {
  readonly id: string;
  readonly make: Parameters<Channel['send']>[1];
  readonly told: PromiseWithResolvers<Told>;
}

/**
 * Sends together what its members have to send, once each of them either waits for an answer or is
 * over. What a member sends after an answer goes with the next request.
 */
export class ChangeSetChannel implements Channel {
  readonly #context: SetContext;
  readonly #members: ReadonlyMap<string, PlannedChange>;
  /** Members that are over, and whether they are done. */
  readonly #over = new Map<string, boolean>();
  /** Those of which an earlier try may have been carried out. */
  readonly #maybeDone = new Set<string>();
  readonly #waiting = new Map<string, Waiting>();
  /** Members that neither wait nor are over. */
  #busy: number;
  #seenAgain: Promise<LiveByKey> | null = null;

  /** The members in the order in which they are to be carried out; each of them is then run. */
  constructor(members: readonly PlannedChange[], context: SetContext) {
    this.#context = context;
    this.#members = new Map(members.map((member) => [member.id, member]));
    this.#busy = members.length;
  }

  get isAtomic(): boolean {
    return this.#context.isAtomic;
  }

  /** Does what a member does, from its beginning to its end. */
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

  send(id: string, make: Waiting['make']): Promise<Told> {
    const told = Promise.withResolvers<Told>();
    this.#waiting.set(id, { id, make, told });
    this.#pause();
    return told.promise;
  }

  /** Once for all that have to look after one request. */
  lookAgain(): Promise<LiveByKey> {
    this.#seenAgain ??= this.#context.lookAgain();
    return this.#seenAgain;
  }

  /** A member waits now, or is over. */
  #pause(): void {
    this.#busy -= 1;
    if (this.#busy === 0 && this.#waiting.size > 0) void this.#sendAll();
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
    if (this.#busy === 0) void this.#sendAll();
  }

  /** Puts it into the set, or leaves it for the next one, or ends it where what it needs is not done. */
  #put(one: Waiting, draft: ChangeSetDraft): void {
    const needed = this.#members.get(one.id)!.dependsOn.filter((id) => this.#members.has(id));
    if (needed.some((id) => this.#over.get(id) === false)) {
      this.#busy += 1;
      this.#take(one.id).told.reject(notDone());
      return;
    }
    const before = needed.filter((id) => !this.#over.has(id));
    if (!before.every((id) => draft.has(id))) return;
    try {
      draft.add(one.id, before, one.make);
    } catch (error) {
      this.#busy += 1;
      this.#take(one.id).told.reject(error);
    }
  }

  #tell(id: string, outcome: SetOutcome): void {
    if (outcome.maybeDone) this.#maybeDone.add(id);
    if ('notBegun' in outcome) {
      this.#busy -= 1;
      return;
    }
    const { told } = this.#take(id);
    const maybeDone = this.#maybeDone.has(id);
    if ('thrown' in outcome) told.reject(outcome.thrown);
    else if ('refused' in outcome) {
      const { status, fields } = outcome.refused;
      told.reject(new ApiRefusal(status, fields, maybeDone));
    } else told.resolve({ body: outcome.body });
  }

  #take(id: string): Waiting {
    const one = this.#waiting.get(id)!;
    this.#waiting.delete(id);
    return one;
  }
}

const neverBegun: SetOutcome = {
  refused: {
    status: 503,
    fields: { message: 'it begins none of the changes that it is sent', code: '', param: '' },
  },
  maybeDone: true,
};

/** As the server says it of what goes with a refused change. */
function notDone(): ApiRefusal {
  const message = 'something that it goes with is not done';
  return new ApiRefusal(424, { message, code: '', param: '' }, false);
}
