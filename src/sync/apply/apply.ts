/** Carries out a plan over HTTP: in parallel, in dependency order, continuing after failures. */
import { type Ending, Failure } from '../../failure.ts';
import type { Plan, PlannedChange } from '../plan/plan-model.ts';
import { owningWorkspace, type Position } from '../resources/resource-set.ts';
import { pointerOf } from '../resources/spec-paths.ts';
import { ApiRefusal, Unreachable } from '../server/refusal.ts';
import { ChangeSetChannel } from './change-set-channel.ts';
import { ChangeWriter, type ChangeWriterContext } from './change-writer.ts';
import { isFencedOff } from './owner-lease.ts';
import { Schedule } from './schedule.ts';
import { changedMeanwhile, StaleResourceError } from './stale-resource-error.ts';

type ItemStatus =
  | 'done'
  | 'failed'
  /** Changed by somebody since the plan was made; nothing was written. */
  | 'stale'
  /** Not started, because of another change. */
  | 'blocked';

export interface AppliedItem {
  readonly id: string;
  readonly action: PlannedChange['action'];
  readonly kind: PlannedChange['identity']['kind'];
  readonly status: ItemStatus;
  /** Why the change is not done; null if it is. */
  readonly message: string | null;
  /** Position of the field that caused the error, else of the document; null without a document. */
  readonly position: Position | null;
  /** Id on the server; null while unknown. */
  readonly resourceId: string | null;
}

export interface ApplyReport {
  /** In plan order. */
  readonly items: readonly AppliedItem[];
  /** Whether an abort left changes undone. */
  readonly interrupted: boolean;
  /** Why the server was given up; null if it was not. */
  readonly unreachable: string | null;
}

export interface ApplyContext extends ChangeWriterContext {
  /** Maximum number of changes in one request; 1 when the server takes no change sets. */
  readonly changesMax: number;
  /** Makes everything in one transaction, or nothing. */
  readonly isAtomic: boolean;
  readonly onItem?: OnItem | undefined;
}

/** Called once for each change that has ended, with the progress of the run. */
export type OnItem = (item: AppliedItem, reached: Progress) => void;

interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Maximum concurrent requests, for single changes and for change sets. */
const singlesMax = 32;
const setsMax = 8;
/** Maximum changes in flight in change sets; their bodies stay in memory until the response. */
const changesUnderWayMax = 4_000;
/** A plan is divided among the concurrent sets, but not into smaller ones. */
const setSizeMin = 25;
const atomicRefusalMessage = 'not carried out: another change of the same transaction was refused';
const leaseLostMessage = 'another run has taken over the lease of the owner; run it again';

/**
 * Carries out every change whose dependencies succeed. A failure blocks only what depends on it and
 * the deletions in its workspace. An unreachable server or an abort stops the rest. Never throws
 * for a single change.
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

/** Returns the ending of the whole run. */
export function endingOfReport(report: ApplyReport): Exclude<Ending, 'stale'> {
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
  /** Workspaces with an undone change; nothing is pruned in them. */
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

  /** Starts as many changes as allowed, each as soon as its dependencies have ended. */
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
    if (item.status !== 'done' && !change.prune)
      this.#undoneIn.add(owningWorkspace(change.identity));
    this.#items.set(change.id, item);
    this.#context.onItem?.(item, { done: this.#items.size, total });
  }

  /** Returns why the change is not started; null if it may be. */
  #heldBack(change: PlannedChange): AppliedItem | null {
    const missing = this.#missing(change);
    if (missing !== null) return itemOf(change, 'blocked', missing);
    if (this.#context.signal?.aborted) return itemOf(change, 'blocked', 'not started: interrupted');
    if (this.#context.lease.isLost)
      return itemOf(change, 'stale', `not started: ${leaseLostMessage}`);
    if (this.unreachable !== null) {
      return itemOf(change, 'blocked', 'not started: the server is unreachable');
    }
    if (change.prune && this.#undoneIn.has(owningWorkspace(change.identity))) {
      const message = 'not deleted: another change in its workspace failed';
      return itemOf(change, 'blocked', message);
    }
    return null;
  }

  #missing({ dependsOn }: PlannedChange): string | null {
    const id = dependsOn.find((one) => (this.#items.get(one)?.status ?? 'done') !== 'done');
    return id === undefined ? null : `it depends on ${id}, which was not done`;
  }

  #failedItem(change: PlannedChange, error: unknown): AppliedItem {
    if (this.#context.signal?.aborted && isAbort(error)) {
      return itemOf(change, 'failed', 'interrupted before the server answered; run it again');
    }
    if (error instanceof Unreachable) {
      this.unreachable ??= error.message;
      return itemOf(change, 'failed', 'the server became unreachable');
    }
    if (isFencedOff(error)) {
      this.#context.lease.markLost();
      return itemOf(change, 'stale', leaseLostMessage);
    }
    if (error instanceof StaleResourceError) return itemOf(change, 'stale', error.message);
    if (error instanceof ApiRefusal && error.status === 412) {
      return itemOf(change, 'stale', changedMeanwhile);
    }
    if (error instanceof ApiRefusal && error.status === 424) {
      return itemOf(change, 'blocked', this.#missing(change) ?? atomicRefusalMessage);
    }
    if (error instanceof ApiRefusal) {
      const message = `the server refuses it (${error.status}): ${error.message}`;
      return {
        ...itemOf(change, 'failed', message),
        position: positionOfField(change, error.param),
      };
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

/** Returns the position of the field that the server names, such as `checks[0].id`. */
function positionOfField({ desired, position }: PlannedChange, param: string): Position | null {
  if (desired === null || param === '') return position;
  return desired.positionOf(pointerOf(param.split(/[.[\]]+/).filter((part) => part !== '')));
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
}
