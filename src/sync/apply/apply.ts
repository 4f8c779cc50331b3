/** Knows how a plan is carried out over HTTP: in parallel, in order, and on past what fails. */
import { isDeepStrictEqual } from 'node:util';
import { type Ending, Failure } from '../../failure.ts';
import { loadBody } from '../../model/bodies.ts';
import type { Plan, PlannedChange } from '../plan/planned.ts';
import type { AdminClient, ApiResponse } from '../server/client.ts';
import { Pace } from '../server/pace.ts';
import { ApiRefusal, Unreachable } from '../server/refusal.ts';
import {
  type DesiredResource,
  identityKey,
  type LiveResource,
  type Position,
} from '../spec/resource-set.ts';
import { pointerOf } from '../spec/spec-paths.ts';
import { isFencedOff, type OwnerLease } from './owner-lease.ts';
import {
  createRequest,
  deleteRequest,
  type RequestContext,
  type Target,
  updateRequest,
  type WireRequest,
} from './requests.ts';
import type { SecretOutput } from './secret-output.ts';

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

export interface ApplyContext {
  readonly client: AdminClient;
  /** Of the plan's owner; every write carries its fence. */
  readonly lease: OwnerLease;
  readonly secretOutput: SecretOutput | null;
  /** Reads the server anew: live resources by identity key, as in the plan. */
  readonly lookAgain: () => Promise<ReadonlyMap<string, LiveResource>>;
  /** Aborted: what is under way is finished, nothing more is started. */
  readonly signal?: AbortSignal | undefined;
  readonly onItem?: ((item: AppliedItem) => void) | undefined;
}

const workersMax = 32;
const takenOver = 'another run has taken the lease of the owner over; run it again';

/**
 * Carries out every change whose dependencies succeed. One failure blocks what depends on it and
 * nothing else; an unreachable server or an abort stops the rest. Never throws for a single change.
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
export function endingOf(report: ApplyReport): Ending {
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
  readonly #plan: Plan;
  readonly #context: ApplyContext;
  readonly #wire: RequestContext;
  readonly #targets: Map<string, Target>;
  readonly #workers = new Pace({ start: workersMax, max: workersMax });

  constructor(plan: Plan, context: ApplyContext) {
    this.#plan = plan;
    this.#context = context;
    this.#targets = new Map(plan.live);
    this.#wire = {
      owner: plan.owner,
      source: plan.source,
      resolve: (key) => this.#targets.get(key),
    };
  }

  async all(changes: readonly PlannedChange[]): Promise<AppliedItem[]> {
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
    this.#context.onItem?.(item);
    return item;
  }

  async #attempt(change: PlannedChange): Promise<AppliedItem> {
    if (this.#context.signal?.aborted) return itemOf(change, 'blocked', 'not started: interrupted');
    if (this.#context.lease.isLost) return itemOf(change, 'stale', `not started: ${takenOver}`);
    if (this.unreachable !== null) {
      return itemOf(change, 'blocked', 'not started: the server is out of reach');
    }
    try {
      const id = await this.#carryOut(change);
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

  /** Yields the id of the resource on the server. */
  async #carryOut(change: PlannedChange): Promise<string | null> {
    const { live, desired } = change;
    switch (change.action) {
      case 'create':
        return this.#create(desired!);
      case 'update':
      case 'adopt':
        return this.#update(change);
      case 'replace':
        await this.#delete(live!);
        return this.#create(desired!);
      case 'delete':
        await this.#delete(live!);
        return live!.id;
      case 'retain':
        return live!.id;
    }
  }

  async #create(desired: DesiredResource): Promise<string> {
    const output = desired.secretOutput === null ? null : this.#context.secretOutput;
    const value = await output?.prepare(desired);
    const wire = createRequest(desired, this.#wire, false, value?.reveal());
    const key = identityKey(desired.identity);
    let made: Target;
    try {
      made = targetOf(await this.#send(wire));
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.status !== 409 || isFencedOff(error)) throw error;
      made = await this.#findMade(desired, error);
    }
    this.#targets.set(key, made);
    await output?.deliver(desired);
    return made.id;
  }

  /** Refused as a duplicate: by an earlier try of our own whose answer was lost, or by somebody else's. */
  async #findMade(desired: DesiredResource, refusal: ApiRefusal): Promise<Target> {
    const found = (await this.#context.lookAgain()).get(identityKey(desired.identity));
    if (found?.owner !== this.#plan.owner) throw refusal;
    if (refusal.maybeDone && isDeepStrictEqual(found.base, desired.spec)) return found;
    throw new Stale('another run has made it meanwhile; run it again');
  }

  async #update(change: PlannedChange): Promise<string> {
    const live = change.live!;
    try {
      const schema = await loadBody(change.desired!.identity.kind);
      await this.#send(updateRequest(change, this.#wire, schema));
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      if (error.status === 404) throw new Stale('it is gone from the server; run it again');
      if (error.status !== 412) throw error;
      const now = (await this.#context.lookAgain()).get(identityKey(change.identity));
      const isOurs = error.maybeDone && isDeepStrictEqual(now?.base, change.desired!.spec);
      if (!isOurs) throw new Stale('it was changed on the server since the plan; run it again');
    }
    return live.id;
  }

  /** Gone already is as good. */
  async #delete(live: LiveResource): Promise<void> {
    try {
      await this.#send(deleteRequest(live, this.#wire));
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      if (error.status === 412) {
        throw new Stale('it was changed on the server since the plan; run it again');
      }
      if (error.status !== 404) throw error;
    }
  }

  #send(request: WireRequest): Promise<ApiResponse> {
    const { client, lease, signal } = this.#context;
    return client.request({ ...request, fence: lease.fence, signal });
  }
}

class Stale extends Error {
  override name = 'Stale';
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

function targetOf({ body }: ApiResponse): Target {
  const fields = body as { id?: unknown; map_id?: unknown; slug?: unknown } | null;
  const id = fields?.id ?? fields?.map_id;
  if (typeof id !== 'string') {
    const fault = { message: 'its answer holds no id', code: '', param: '' };
    throw new ApiRefusal(200, fault, true);
  }
  return { id, slug: typeof fields?.slug === 'string' ? fields.slug : null };
}

/** Where the field stands that the server names: `usage_limits.credit_limit`, `checks[0].id`. */
function blamed({ desired, position }: PlannedChange, param: string): Position | null {
  if (desired === null || param === '') return position;
  return desired.positionOf(pointerOf(param.split(/[.[\]]+/).filter((part) => part !== '')));
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
}
