/** Keeps the charge of a response or run open until the provider reports its usage, and settles it then. */

import { addressOf, openCharge, openForMs, settleCharge } from '../../ledger/open-charge.ts';
import { readJson } from '../../model/json/read-object.ts';
import { newIdBytes } from '../../model/wire/ids.ts';
import type { Owner } from '../../objects/owner.ts';
import { findReportedUsage, type ReportedObjectUsage } from '../../objects/reported-usage.ts';
import type { Database } from '../../store/connection/db.ts';
import * as openCharges from '../../store/logs/open-charges.ts';
import type { TargetOutcome } from '../calls/outcome.ts';
import type { RequestContext } from '../calls/request-context.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';
import { eventDataReader } from '../transfer/event-data.ts';
import type { ObjectRecorder } from './object-recorder.ts';

interface ChargeOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly owner: Owner;
  /** Records the objects of the same response; null for none. */
  readonly recorder: ObjectRecorder | null;
}

/** Reads the usage that a response reports, before the caller receives it. */
interface UsageWatch {
  /** `uses` in one response or event. */
  record(uses: readonly ReportedObjectUsage[]): Promise<void>;
  /** The response is complete or has broken off. */
  end(): Promise<void>;
}

const firstLookMs = 60_000;
/** Matches events that may report usage. */
const usageEvent = /"object"\s*:\s*"(?:response|thread\.run)"/;

/** Adds reading of reported usage to the recorder of a response; null when there is nothing to record. */
export async function withCharges(
  context: RequestContext,
  owned: OwnedPath,
  outcome: TargetOutcome,
  options: ChargeOptions,
): Promise<ObjectRecorder | null> {
  const { recorder } = options;
  const watch = await watchOf(context, owned, outcome, options);
  return watch === null ? recorder : watchedRecorder(recorder ?? emptyRecorder, watch);
}

async function watchOf(
  context: RequestContext,
  owned: OwnedPath,
  outcome: TargetOutcome,
  options: ChargeOptions,
): Promise<UsageWatch | null> {
  const { target } = outcome;
  const { method } = context.exchange.request;
  if (target.translator !== null) return null;
  const { metering } = target;
  if (metering === 'runs' || metering === 'responses' || metering === 'batches') {
    return mayStayOpen(context, outcome) ? openingWatch(context, owned, target, options) : null;
  }
  if (!reportsUsage(owned, method)) return null;
  const { database, owner } = options;
  const rows = await openCharges.listOf(database.db, {
    organisationId: owner.organisationId,
    workspaceId: owner.workspaceId,
    kind: owned.kind,
    objectId: owned.id!,
  });
  const open = rows.filter((row) => isAtTarget(row, target, context.exchange.path));
  return open.length === 0 ? null : settlingWatch(context, open, options);
}

/** Whether the charge may be an estimate. Before the response is read, only whether its usage counts is known. */
function mayStayOpen({ calls }: RequestContext, outcome: TargetOutcome): boolean {
  const isComplete = outcome.kind === 'judged' || outcome.kind === 'local';
  return isComplete ? outcome.response.metered.assumed !== undefined : calls.lingerMs > 0;
}

/** Whether a response may report the usage of a response or of the runs of a thread. */
function reportsUsage({ kind, id, rest }: OwnedPath, method: string | undefined): boolean {
  if (id === null || method === 'DELETE') return false;
  if (kind === 'responses') return rest.length === 0 || rest.join('/') === 'cancel';
  return kind === 'threads' && rest[0] === 'runs' && !rest.includes('steps');
}

/** Watches a model request. An estimated charge stays open until the provider reports the usage. */
function openingWatch(
  context: RequestContext,
  owned: OwnedPath,
  target: ResolvedTarget,
  { database, owner }: ChargeOptions,
): UsageWatch {
  const { exchange, draft, services } = context;
  let last: ReportedObjectUsage | null = null;
  const open = async ({ id, threadId, isOver }: ReportedObjectUsage): Promise<void> => {
    const assumed = draft.metered?.assumed;
    if (assumed === undefined || isOver) return;
    const provider = providerOf(target);
    const isPolled = provider.startsWith('@');
    const row = {
      organisation_id: owner.organisationId,
      workspace_id: owner.workspaceId,
      kind: owned.kind,
      object_id: threadId ?? id,
      run_id: threadId === null ? '' : id,
      provider,
      created_at: exchange.now,
      address: addressIn(target, exchange.path),
      id: newIdBytes(),
      look_at: exchange.now + (isPolled ? firstLookMs : openForMs),
    };
    // Set before the insert, whose result may be lost; the log then looks up whether the row exists.
    draft.openCharge = row;
    await openCharge(database.db, row, assumed);
    // The next request may already report the usage, so the counters must include the charge.
    await services.ledger.report(owner.organisationId);
  };
  return {
    record: async ([use]) => {
      last = use ?? last;
    },
    end: async () => {
      if (last !== null) await open(last);
    },
  };
}

/** Settles reported usage before the caller receives it. If that fails, a job asks the provider later. */
function settlingWatch(
  { services, exchange }: RequestContext,
  rows: readonly openCharges.OpenCharge[],
  { database }: ChargeOptions,
): UsageWatch {
  const settle = async ({ id, threadId, isOver, usage }: ReportedObjectUsage): Promise<void> => {
    const isSame = (row: openCharges.OpenCharge): boolean =>
      threadId === null ? row.run_id === '' && row.object_id === id : row.run_id === id;
    const row = rows.find(isSame);
    if (row === undefined || !isOver) return;
    try {
      await settleCharge((work) => database.transaction(work), row, usage, exchange.now);
    } catch (thrown) {
      if (!services.isUnavailable(thrown)) services.onFault(thrown, exchange.id);
    }
  };
  return {
    record: async (uses) => {
      for (const use of uses) await settle(use);
    },
    end: async () => undefined,
  };
}

const nothing = Buffer.alloc(0);

const emptyRecorder: ObjectRecorder = {
  whole: async (body) => body,
  ofStream: () => ({
    outlivesCaller: false,
    isUnwanted: false,
    record: async () => undefined,
    end: async () => nothing,
  }),
};

function watchedRecorder(recorder: ObjectRecorder, watch: UsageWatch): ObjectRecorder {
  return {
    whole: async (body) => {
      const delivered = await recorder.whole(body);
      await watch.record(findReportedUsage(readJson(body.toString('utf8'))));
      await watch.end();
      return delivered;
    },
    ofStream: () => {
      const stream = recorder.ofStream();
      const readData = eventDataReader();
      return {
        outlivesCaller: stream.outlivesCaller,
        isUnwanted: stream.isUnwanted,
        record: async (bytes) => {
          await stream.record(bytes);
          for (const data of readData(bytes)) {
            if (usageEvent.test(data)) await watch.record(findReportedUsage(readJson(data)));
          }
        },
        end: async () => {
          const rest = await stream.end();
          await watch.end();
          return rest;
        },
      };
    },
  };
}

/** Whether the charge was made at the same server; usage that another server reports is not used. */
function isAtTarget(row: openCharges.OpenCharge, target: ResolvedTarget, path: string): boolean {
  return row.provider === providerOf(target) && addressOf(row) === addressIn(target, path);
}

/** Address of a service that the request named directly; null for a provider of a workspace, which has one address. */
function addressIn({ workspaceProvider, call }: ResolvedTarget, path: string): string | null {
  if (workspaceProvider !== null) return null;
  const [whole] = call.path.split('?', 1) as [string];
  const prefix = whole.endsWith(path) ? whole.slice(0, -path.length) : whole;
  return call.origin + prefix;
}
