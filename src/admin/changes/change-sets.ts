/** Knows how many changes are made by one request (docs/reference/api.md, Change sets): each for itself, or all or none. */
import type { Principal } from '../../auth/principal.ts';
import { Reply, type Route, route } from '../../http/routes/route.ts';
import { changeSetBodyLimits } from '../../model/json/body-limits.ts';
import {
  type ChangeRequest,
  type ChangeResult,
  ChangeSet,
  ChangeSetResult,
} from '../../model/kinds/change-set.ts';
import { allScopes } from '../../model/people/scopes.ts';
import { ApiError, errorBody } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import { undoable } from '../../store/connection/savepoint.ts';
import * as organisationLocks from '../../store/rows/organisation-locks.ts';
import { type AdminDeps, forOwners } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';
import { madeBy, type Outcomes, requestOf } from './change-request.ts';

/** Whoever may change one thing may ask; each change then asks for its own scope. */
const scopes = allScopes.filter((scope) =>
  /^(?:workspaces|configs|guardrails|policies|mcp_servers|providers|\w+_integrations|\w+_api_keys)\.(?:create|update|delete)$/.test(
    scope,
  ),
);

/** Changes are begun for so long; the rest are for another request, so that each is answered in time. */
const beginMsMax = 10_000;

type SetRequest = BodyRequest<ChangeSet>;

export function changeSetRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      ...forOwners,
      method: 'POST',
      path: '/gatewright/changes',
      mounts: { admin: ['access-token'] },
      scope: scopes,
      summary: 'Make many changes of resources, each for itself or all or none',
      body: ChangeSet,
      bodyLimits: changeSetBodyLimits,
      response: ChangeSetResult,
      failureStatus: 422,
      handle: (request) => carryOut(deps, request),
    }),
  ];
}

async function carryOut(deps: AdminDeps, request: SetRequest): Promise<Reply<ChangeSetResult>> {
  const { mode, changes } = request.body;
  refuseRepeatedLabels(changes);
  if (mode === 'atomic') return carryOutTogether(deps, request);
  if (request.idempotencyKey !== null) {
    const message = 'is for an atomic set; of this one each create takes an idempotency_key';
    throw validationError({ path: ['Idempotency-Key'], message });
  }
  return new Reply(200, resultOf(await carryOutEach(request)));
}

/** One after another. A fault of the server ends it: what comes after is answered as not begun. */
async function carryOutEach(request: SetRequest): Promise<ChangeResult[]> {
  const course = new Course(request);
  const until = performance.now() + beginMsMax;
  for (const change of request.body.changes) {
    if (performance.now() >= until) course.end();
    try {
      await course.next(change);
    } catch (thrown) {
      // Before anything is done, it is the answer of the whole.
      if (course.results.length === 0) throw thrown;
      course.refuse(change, request.inner.explain(thrown, request.requestId));
      course.end();
    }
  }
  return course.results;
}

/**
 * In one transaction, which whoever decides about all of an organisation at once waits for: two sets
 * never hold what the other waits for. Each change that is refused is undone and told, so that one
 * answer names every place that is wrong.
 */
async function carryOutTogether(
  deps: AdminDeps,
  request: SetRequest,
): Promise<Reply<ChangeSetResult>> {
  // Asked before a connection is held, which whoever asks for the first time takes another beside.
  await deps.keyring.sealerOf(request.caller.organisationId);
  try {
    const results = await deps.database.transaction(async (tx) => {
      await organisationLocks.lock(tx, request.caller.organisationId);
      const course = new Course(request);
      for (const change of request.body.changes) {
        await course.next(change, (work) => undoable(tx, work, isRefusal));
      }
      if (course.results.some(({ status }) => status >= 400)) throw new RefusedSet(course.results);
      return course.results;
    });
    return new Reply(200, resultOf(results));
  } catch (error) {
    if (error instanceof RefusedSet) return new Reply(422, resultOf(error.results));
    throw error;
  }
}

/** A set on its way: what has become of its changes so far. */
class Course {
  readonly results: ChangeResult[] = [];
  readonly #request: SetRequest;
  readonly #outcomes = new Map<string, ReturnType<typeof madeBy>>();
  #isOver = false;

  constructor(request: SetRequest) {
    this.#request = request;
  }

  /** Nothing more is begun. */
  end(): void {
    this.#isOver = true;
  }

  /** @throws what is no refusal of this change alone */
  async next(change: ChangeRequest, within: Within = (work) => work()): Promise<void> {
    if (this.#isOver) return this.refuse(change, notBegun());
    try {
      const answer = await within(async () => {
        const inner = requestOf(change, this.#outcomes as Outcomes);
        return this.#request.inner.carryOut(this.#request, inner);
      });
      this.#note(change, madeBy(answer) ?? { id: change.id ?? '', slug: null });
      this.results.push({ status: answer.status, body: answer.body as ChangeResult['body'] });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.refuse(change, error);
    }
  }

  refuse(change: ChangeRequest, error: ApiError): void {
    this.#note(change, null);
    this.results.push({ status: error.status, body: { ...errorBody(error) } });
  }

  #note({ label }: ChangeRequest, made: ReturnType<typeof madeBy>): void {
    if (label !== undefined) this.#outcomes.set(label, made);
  }
}

type Within = <T>(work: () => Promise<T>) => Promise<T>;

class RefusedSet extends Error {
  readonly results: readonly ChangeResult[];

  constructor(results: readonly ChangeResult[]) {
    super('a change of the set is refused');
    this.results = results.map((result) => (result.status >= 400 ? result : undone));
  }
}

const undone: ChangeResult = {
  status: 424,
  body: {
    ...errorBody(new ApiError('dependency', 'Undone: another change of the set is refused')),
  },
};

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status < 500;
}

function notBegun(): ApiError {
  return new ApiError('unavailable', 'Not begun within this request: send it again in another one');
}

function refuseRepeatedLabels(changes: readonly ChangeRequest[]): void {
  const seen = new Set<string>();
  for (const [at, { label }] of changes.entries()) {
    if (label === undefined) continue;
    if (seen.has(label)) {
      const message = 'is the label of an earlier change, too';
      throw validationError({ path: ['changes', at, 'label'], message });
    }
    seen.add(label);
  }
}

function resultOf(results: readonly ChangeResult[]): ChangeSetResult {
  const applied = results.filter(({ status }) => status < 400).length;
  return { object: 'list', total: results.length, applied, data: [...results] };
}
