/** HTTP route for change sets (docs/reference/api.md, Change sets): many changes, independent or atomic. */
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
import { changedResourceOf, type Outcomes, toInnerRequest } from './change-request.ts';

/** Any scope that allows a change of some resource; each change then checks its own scope. */
const scopes = allScopes.filter((scope) =>
  /^(?:workspaces|configs|guardrails|policies|mcp_servers|providers|\w+_integrations|\w+_api_keys)\.(?:create|update|delete)$/.test(
    scope,
  ),
);

/** No change starts after this time; clients send the rest again, so that responses stay timely. */
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
      summary: 'Carry out many changes of resources, independently or all or none',
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
    const message = 'is for atomic sets; in other sets give each create an idempotency_key';
    throw validationError({ path: ['Idempotency-Key'], message });
  }
  return new Reply(200, resultOf(await carryOutEach(request)));
}

/** Carries out one change after another. After a server error the remaining changes are not started. */
async function carryOutEach(request: SetRequest): Promise<ChangeResult[]> {
  const run = new ChangeSetRun(request);
  const until = performance.now() + beginMsMax;
  for (const change of request.body.changes) {
    if (performance.now() >= until) run.stop();
    try {
      await run.next(change);
    } catch (thrown) {
      // An error of the first change is the error of the whole request.
      if (run.results.length === 0) throw thrown;
      run.refuse(change, request.inner.explain(thrown, request.requestId));
      run.stop();
    }
  }
  return run.results;
}

/**
 * Carries out all changes in one transaction. Locks the organisation first, so that two sets cannot
 * deadlock. A refused change is rolled back to its savepoint and the others continue, so that one response
 * reports all faults.
 */
async function carryOutTogether(
  deps: AdminDeps,
  request: SetRequest,
): Promise<Reply<ChangeSetResult>> {
  // Creates the sealer before the transaction, because the first call needs a second connection.
  await deps.keyring.sealerOf(request.caller.organisationId);
  try {
    const results = await deps.database.transaction(async (tx) => {
      await organisationLocks.lock(tx, request.caller.organisationId);
      const run = new ChangeSetRun(request);
      for (const change of request.body.changes) {
        await run.next(change, (work) => undoable(tx, work, isRefusal));
      }
      if (run.results.some(({ status }) => status >= 400)) throw new RefusedSet(run.results);
      return run.results;
    });
    return new Reply(200, resultOf(results));
  } catch (error) {
    if (error instanceof RefusedSet) return new Reply(422, resultOf(error.results));
    throw error;
  }
}

/** Carries out the changes of one set in order and collects their results. */
class ChangeSetRun {
  readonly results: ChangeResult[] = [];
  readonly #request: SetRequest;
  readonly #outcomes = new Map<string, ReturnType<typeof changedResourceOf>>();
  #isStopped = false;

  constructor(request: SetRequest) {
    this.#request = request;
  }

  /** Starts no further change. */
  stop(): void {
    this.#isStopped = true;
  }

  /** @throws errors other than a refusal of this change */
  async next(change: ChangeRequest, within: Within = (work) => work()): Promise<void> {
    if (this.#isStopped) return this.refuse(change, notStarted());
    try {
      const result = await within(async () => {
        const inner = toInnerRequest(change, this.#outcomes as Outcomes);
        return this.#request.inner.carryOut(this.#request, inner);
      });
      this.#record(change, changedResourceOf(result) ?? { id: change.id ?? '', slug: null });
      this.results.push({ status: result.status, body: result.body as ChangeResult['body'] });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.refuse(change, error);
    }
  }

  refuse(change: ChangeRequest, error: ApiError): void {
    this.#record(change, null);
    this.results.push({ status: error.status, body: { ...errorBody(error) } });
  }

  #record({ label }: ChangeRequest, resource: ReturnType<typeof changedResourceOf>): void {
    if (label !== undefined) this.#outcomes.set(label, resource);
  }
}

type Within = <T>(work: () => Promise<T>) => Promise<T>;

class RefusedSet extends Error {
  readonly results: readonly ChangeResult[];

  constructor(results: readonly ChangeResult[]) {
    super('a change of the set was refused');
    this.results = results.map((result) => (result.status >= 400 ? result : rolledBack));
  }
}

const rolledBack: ChangeResult = {
  status: 424,
  body: {
    ...errorBody(new ApiError('dependency', 'Rolled back: another change of the set was refused')),
  },
};

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status < 500;
}

function notStarted(): ApiError {
  return new ApiError(
    'unavailable',
    'Not started within this request: send it again in another one',
  );
}

function refuseRepeatedLabels(changes: readonly ChangeRequest[]): void {
  const seen = new Set<string>();
  for (const [at, { label }] of changes.entries()) {
    if (label === undefined) continue;
    if (seen.has(label)) {
      const message = 'is already the label of an earlier change';
      throw validationError({ path: ['changes', at, 'label'], message });
    }
    seen.add(label);
  }
}

function resultOf(results: readonly ChangeResult[]): ChangeSetResult {
  const applied = results.filter(({ status }) => status < 400).length;
  return { object: 'list', total: results.length, applied, data: [...results] };
}
