/** Knows how a plan is carried out over HTTP: in parallel, in order, and on past what fails. */
import { type Ending, Failure } from '../../failure.ts';
import type { Plan, PlannedChange } from '../plan/planned.ts';
import { Pace } from '../server/pace.ts';
import { ApiRefusal, Unreachable } from '../server/refusal.ts';
import { type Position, workspaceOf } from '../spec/resource-set.ts';
import { pointerOf } from '../spec/spec-paths.ts';
import { ChangeWriter, type WriterContext } from './change-writer.ts';
import { isFencedOff } from './owner-lease.ts';
import { Stale } from './stale.ts';

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
  readonly interrupted: boolean;
  /** Why the server was given up, or null. */
  readonly unreachable: string | null;
}

export interface ApplyContext extends WriterContext {
  readonly onItem?: OnItem | undefined;
}

/** Told of each change once it is over, whichever way, and how far the run is. */
export type OnItem = (item: AppliedItem, reached: Reached) => void;

interface Reached {
  readonly done: number;
  readonly total: number;
}

const workersMax = 32;
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
    interrupted: context.signal?.aborted ?? false,
    unreachable: run.unreachable,
  };
}

/** What the whole run amounts to. */
export function endingOf(report: ApplyReport): Exclude<Ending, 'stale'> {
  const count = (status: ItemStatus): number =>
    report.items.filter((item) => item.status === status).length;
  if (report.unreachable !== null && count('done') === 0) return 'unreachable';
  if (count('failed') > 0 || report.interrupted || report.unreachable !== null) {
    return count('done') === report.items.length ? 'success' : 'partialFailure';
  }
  if (count('stale') > 0) return 'retryable';
  return count('blocked') > 0 ? 'partialFailure' : 'success';
}

class Run {
  unreachable: string | null = null;
  readonly #context: ApplyContext;
  readonly #writer: ChangeWriter;
  /** Workspaces in which a change is not done: what they have is not removed. */
  readonly #undoneIn = new Set<string | null>();
  #done = 0;
  #total = 0;
  readonly #workers = new Pace({ start: workersMax, max: workersMax });

  constructor(plan: Plan, context: ApplyContext) {
    this.#context = context;
    this.#writer = new ChangeWriter(plan, context);
  }

  async all(changes: readonly PlannedChange[]): Promise<AppliedItem[]> {
    this.#total = changes.length;
    const running = new Map<string, Promise<AppliedItem>>();
    const start = (change: PlannedChange, before: Promise<unknown>): void => {
      const needed = change.dependsOn.flatMap((id) => running.get(id) ?? []);
      running.set(
        change.id,
        before.then(() => this.#one(change, needed)),
      );
    };
    for (const change of changes) if (!change.last) start(change, Promise.resolve());
    const others = Promise.all(running.values());
    for (const change of changes) if (change.last) start(change, others);
    return Promise.all(running.values());
  }

  async #one(change: PlannedChange, needed: readonly Promise<AppliedItem>[]): Promise<AppliedItem> {
    const missing = (await Promise.all(needed)).find((item) => item.status !== 'done');
    const item =
      missing === undefined
        ? await this.#workers.take(() => this.#attempt(change))
        : itemOf(change, 'blocked', `it waits for ${missing.id}, which is not done`);
    if (item.status !== 'done' && !change.prune) this.#undoneIn.add(workspaceOf(change.identity));
    this.#done += 1;
    this.#context.onItem?.(item, { done: this.#done, total: this.#total });
    return item;
  }

  async #attempt(change: PlannedChange): Promise<AppliedItem> {
    if (this.#context.signal?.aborted) return itemOf(change, 'blocked', 'not started: interrupted');
    if (this.#context.lease.isLost) return itemOf(change, 'stale', `not started: ${takenOver}`);
    if (this.unreachable !== null) {
      return itemOf(change, 'blocked', 'not started: the server is out of reach');
    }
    if (change.prune && this.#undoneIn.has(workspaceOf(change.identity))) {
      const message = 'not removed: another change of its workspace is not done';
      return itemOf(change, 'blocked', message);
    }
    try {
      const id = await this.#writer.write(change);
      return { ...itemOf(change, 'done', null), resourceId: id };
    } catch (error) {
      return this.#failedItem(change, error);
    }
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
