/** Knows how a plan is carried out over HTTP: in parallel, in order, and on past what fails. */
import { type Ending, Failure } from '../../failure.ts';
import type { Plan, PlannedChange } from '../plan/planned.ts';
import { type Position, workspaceOf } from '../resources/resource-set.ts';
import { pointerOf } from '../resources/spec-paths.ts';
import { ApiRefusal, Unreachable } from '../server/refusal.ts';
import { ChangeSetChannel } from './change-set-channel.ts';
import { ChangeWriter, type WriterContext } from './change-writer.ts';
import { isFencedOff } from './owner-lease.ts';
import { Schedule } from './schedule.ts';
import { changedMeanwhile, Stale } from './stale.ts';

type ItemStatus =
  | 'done'
  | 'failed'
  /** Somebody changed it since the plan was made; nothing was written. */
  | 'stale'
  /** Not started, because of something else. */
  | 'blocked';

export interface AppliedItem {
  readonly id: string;
  readonly action: PlannedChange['action'];
  readonly kind: PlannedChange['identity']['kind'];
  readonly status: ItemStatus;
  /** Why it is not done; null when it is. */
  readonly message: string | null;
  /** Of the field to blame, else of the document; null when it has none any more. */
  readonly position: Position | null;
  /** Id on the server once known. */
  readonly resourceId: string | null;
}

export interface ApplyReport {
  /** In the order of the plan. */
  readonly items: readonly AppliedItem[];
  /** Whether an abort has left something undone. */
  readonly interrupted: boolean;
  /** Why the server was given up, or null. */
  readonly unreachable: string | null;
}

export interface ApplyContext extends WriterContext {
  /** Most changes that the server takes in one request; 1 where it takes no sets. */
  readonly changesMax: number;
  /** Everything in one transaction, or nothing. */
  readonly isAtomic: boolean;
  readonly onItem?: OnItem | undefined;
}

/** Told of each change once it is over, whichever way, and how far the run is. */
export type OnItem = (item: AppliedItem, reached: Reached) => void;

interface Reached {
  readonly done: number;
  readonly total: number;
}

/** Changes under way at once where each is a request, and sets. */
const singlesMax = 32;
const setsMax = 8;
/** Changes of sets under way at once: the bodies of all that wait for their answers are in memory. */
const changesUnderWayMax = 4_000;
/** A plan is divided among the sets that may be under way, but into none smaller. */
const setSizeMin = 25;
const undone = 'not carried out: another change of the same transaction is refused';
const takenOver = 'another run has taken the lease of the owner over; run it again';

/**
 * Carries out every change whose dependencies succeed. One failure blocks what depends on it and
 * what left the source in its workspace, and nothing else; an unreachable server or an abort stops the rest. Never throws for a single change.
 */
export async function applyPlan(plan: Plan, context: ApplyContext): Promise<ApplyReport> {
  const run = new Run(plan, context);
  const changes = plan.changes.filter((change) => change.action !== 'retain');
  const items = await run.all(changes);
  return {
    items,
    interrupted: context.signal?.aborted === true && items.some(({ status }) => status !== 'done'),
    unreachable: run.unreachable,
  };
}

/** What the whole run amounts to. */
export function endingOf(report: ApplyReport): Exclude<Ending, 'stale'> {
  const count = (status: ItemStatus): number =>
    report.items.filter((item) => item.status === status).length;
  if (report.unreachable !== null && count('done') === 0) return 'unreachable';
  if (count('failed') > 0 || report.interrupted) return 'partialFailure';
  if (report.unreachable !== null) {
    return count('done') === report.items.length ? 'success' : 'partialFailure';
  }
  if (count('stale') > 0) return 'retryable';
  return count('blocked') > 0 ? 'partialFailure' : 'success';
}

class Run {
  unreachable: string | null = null;
  readonly #context: ApplyContext;
  readonly #writer: ChangeWriter;
  readonly #items = new Map<string, AppliedItem>();
  /** Workspaces in which a change is not done: what they have is not removed. */
  readonly #undoneIn = new Set<string | null>();

  constructor(plan: Plan, context: ApplyContext) {
    this.#context = context;
    this.#writer = new ChangeWriter(plan, context);
  }

  async all(changes: readonly PlannedChange[]): Promise<AppliedItem[]> {
    const total = changes.length;
    if (this.#context.isAtomic) await this.#batch(changes, total);
    else await this.#inBatches(changes);
    return changes.map(({ id }) => this.#items.get(id)!);
  }

  /** As many at once as may be, each as soon as what it depends on is over. */
  async #inBatches(changes: readonly PlannedChange[]): Promise<void> {
    const total = changes.length;
    const { changesMax } = this.#context;
    const share = Math.max(setSizeMin, Math.ceil(total / setsMax));
    const size = Math.min(changesMax, share);
    const fitting = Math.max(1, Math.floor(changesUnderWayMax / size));
    const underWayMax = changesMax === 1 ? singlesMax : Math.min(setsMax, fitting);
    const schedule = new Schedule(changes);
    const underWay = new Set<Promise<void>>();
    for (;;) {
      while (underWay.size < underWayMax) {
        const batch = schedule.take(size, underWay.size === 0);
        if (batch.length === 0) break;
        const carrying = this.#batch(batch, total).then(() => {
          underWay.delete(carrying);
          for (const change of batch) schedule.end(change);
        });
        underWay.add(carrying);
      }
      if (underWay.size === 0) return;
      await Promise.race(underWay);
    }
  }

  async #batch(batch: readonly PlannedChange[], total: number): Promise<void> {
    const members = batch.filter((change) => {
      const item = this.#heldBack(change);
      if (item !== null) this.#end(change, item, total);
      return item === null;
    });
    const { isAtomic, ...context } = this.#context;
    const isAlone = members.length === 1 && !isAtomic;
    const set = isAlone
      ? null
      : new ChangeSetChannel(members, { ...context, isAtomic, resolve: this.#writer.resolve });
    const outcomes = await Promise.allSettled(
      members.map((change) =>
        set === null
          ? this.#writer.write(change, this.#writer.single)
          : set.run(change, () => this.#writer.write(change, set)),
      ),
    );
    for (const [at, outcome] of outcomes.entries()) {
      const change = members[at]!;
      const item =
        outcome.status === 'fulfilled'
          ? { ...itemOf(change, 'done', null), resourceId: outcome.value }
          : this.#failedItem(change, outcome.reason);
      this.#end(change, item, total);
    }
  }

  #end(change: PlannedChange, item: AppliedItem, total: number): void {
    if (item.status !== 'done' && !change.prune) this.#undoneIn.add(workspaceOf(change.identity));
    this.#items.set(change.id, item);
    this.#context.onItem?.(item, { done: this.#items.size, total });
  }

  /** Why it is not started; null where nothing speaks against it. */
  #heldBack(change: PlannedChange): AppliedItem | null {
    const missing = this.#missing(change);
    if (missing !== null) return itemOf(change, 'blocked', missing);
    if (this.#context.signal?.aborted) return itemOf(change, 'blocked', 'not started: interrupted');
    if (this.#context.lease.isLost) return itemOf(change, 'stale', `not started: ${takenOver}`);
    if (this.unreachable !== null) {
      return itemOf(change, 'blocked', 'not started: the server is out of reach');
    }
    if (change.prune && this.#undoneIn.has(workspaceOf(change.identity))) {
      const message = 'not removed: another change of its workspace is not done';
      return itemOf(change, 'blocked', message);
    }
    return null;
  }

  #missing({ dependsOn }: PlannedChange): string | null {
    const id = dependsOn.find((one) => (this.#items.get(one)?.status ?? 'done') !== 'done');
    return id === undefined ? null : `it waits for ${id}, which is not done`;
  }

  #failedItem(change: PlannedChange, error: unknown): AppliedItem {
    if (this.#context.signal?.aborted && isAbort(error)) {
      return itemOf(change, 'failed', 'interrupted before the server answered; run it again');
    }
    if (error instanceof Unreachable) {
      this.unreachable ??= error.message;
      return itemOf(change, 'failed', 'the server went out of reach');
    }
    if (isFencedOff(error)) {
      this.#context.lease.markLost();
      return itemOf(change, 'stale', takenOver);
    }
    if (error instanceof Stale) return itemOf(change, 'stale', error.message);
    if (error instanceof ApiRefusal && error.status === 412) {
      return itemOf(change, 'stale', changedMeanwhile);
    }
    if (error instanceof ApiRefusal && error.status === 424) {
      return itemOf(change, 'blocked', this.#missing(change) ?? undone);
    }
    if (error instanceof ApiRefusal) {
      const message = `the server refuses it (${error.status}): ${error.message}`;
      return { ...itemOf(change, 'failed', message), position: blamed(change, error.param) };
    }
    if (error instanceof Failure) return itemOf(change, 'failed', error.message);
    throw error;
  }
}

function itemOf(change: PlannedChange, status: ItemStatus, message: string | null): AppliedItem {
  const { id, action, identity, position, live } = change;
  return {
    id,
    action,
    kind: identity.kind,
    status,
    message,
    position,
    resourceId: live?.id ?? null,
  };
}

/** Where the field stands that the server names: `usage_limits.credit_limit`, `checks[0].id`. */
function blamed({ desired, position }: PlannedChange, param: string): Position | null {
  if (desired === null || param === '') return position;
  return desired.positionOf(pointerOf(param.split(/[.[\]]+/).filter((part) => part !== '')));
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
}
