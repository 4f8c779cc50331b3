/** Knows how a response or run at a provider that was charged what it was granted comes to be charged what it has used, whoever asks for it. */

import { addressOf, openCharge, openForMs, settleCharge } from '../../ledger/open-charge.ts';
import { newIdBytes } from '../../model/ids.ts';
import type { Owner } from '../../objects/owner.ts';
import { type ToldUse, toldUses } from '../../objects/told-uses.ts';
import type { Database } from '../../store/connection/db.ts';
import * as openCharges from '../../store/tables/open-charges.ts';
import type { Calling } from '../answering/calling.ts';
import type { Attempted } from '../calls/attempt.ts';
import { meteringOf } from '../metering/metering.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';
import { eventTexts, parsedJson } from '../transfer/event-texts.ts';
import type { Note } from './noted-objects.ts';

interface ChargeOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly owner: Owner;
  /** What else is noted of the answer; null for nothing. */
  readonly note: Note | null;
}

/** Sees what an answer tells of use, before the caller does. */
interface Watch {
  /** `uses` in one answer or event. */
  told(uses: readonly ToldUse[]): Promise<void>;
  /** The stream has ended, whichever way. */
  end(): Promise<void>;
}

const firstLookMs = 60_000;
/** Events that may tell of use. */
const ofUse = /"object"\s*:\s*"(?:response|thread\.run)"/;

/** What is noted of an answer of a provider, with what it tells of use; null where that is nothing. */
export async function withCharges(
  calling: Calling,
  owned: OwnedPath,
  attempted: Attempted,
  options: ChargeOptions,
): Promise<Note | null> {
  const watch = await watchOf(calling, owned, attempted, options);
  return watch === null ? options.note : watched(options.note ?? nothingNoted, watch);
}

async function watchOf(
  calling: Calling,
  owned: OwnedPath,
  { target, guarded }: Attempted,
  options: ChargeOptions,
): Promise<Watch | null> {
  const { method } = calling.exchange.request;
  if (target.translator !== null) return null;
  const metering = meteringOf(target.endpoint, calling.exchange);
  if (metering === 'runs' || metering === 'responses') {
    // Of an answer that is not read yet all that is known is whether somebody has to know what it uses.
    const mayBeOpen =
      guarded === undefined ? calling.calls.lingerMs > 0 : guarded.metered.assumed !== undefined;
    return mayBeOpen ? opening(calling, owned, target, options) : null;
  }
  if (!showsUse(owned, method)) return null;
  const { database, owner } = options;
  const of = { organisationId: owner.organisationId, workspaceId: owner.workspaceId };
  const asked = { ...of, kind: owned.kind, objectId: owned.id! };
  const rows = await openCharges.listOf(database.db, asked);
  const open = rows.filter((row) => isFor(row, target, calling.exchange.path));
  return open.length === 0 ? null : settling(calling, open, options);
}

/** Whether an answer may tell what a response, or runs of a thread, have used. */
function showsUse({ kind, id, rest }: OwnedPath, method: string | undefined): boolean {
  if (id === null || method === 'DELETE') return false;
  if (kind === 'responses') return rest.length === 0 || rest.join('/') === 'cancel';
  return kind === 'threads' && rest[0] === 'runs' && !rest.includes('steps');
}

/** A request that asks a model: what it is charged stays open until it is told what that was for. */
function opening(
  calling: Calling,
  owned: OwnedPath,
  target: ResolvedTarget,
  { database, owner }: ChargeOptions,
): Watch {
  const { exchange, found, pipeline } = calling;
  let last: ToldUse | null = null;
  const open = async ({ id, threadId, isOver }: ToldUse): Promise<void> => {
    const assumed = found.metered?.assumed;
    if (assumed === undefined || isOver) return;
    const provider = providerOf(target);
    const isAsked = provider.startsWith('@');
    const row = {
      ...{ organisation_id: owner.organisationId, workspace_id: owner.workspaceId },
      ...{ kind: owned.kind, object_id: threadId ?? id, run_id: threadId === null ? '' : id },
      ...{ provider, created_at: exchange.now, address: addressIn(target, exchange.path) },
      ...{ id: newIdBytes(), look_at: exchange.now + (isAsked ? firstLookMs : openForMs) },
    };
    // Before it is kept: whether it was may not be told, and the log looks whether there is one.
    found.openCharge = row;
    await openCharge(database.db, row, assumed);
    // Whoever asks next may be told at once what it has used.
    await pipeline.ledger.tell(owner.organisationId);
  };
  return {
    told: async ([use]) => {
      last = use ?? last;
    },
    end: async () => {
      if (last !== null) await open(last);
    },
  };
}

/** What is told is settled before the caller sees it. Where that fails, somebody else asks later on. */
function settling(
  { pipeline, exchange }: Calling,
  rows: readonly openCharges.OpenCharge[],
  { database }: ChargeOptions,
): Watch {
  const settle = async ({ id, threadId, isOver, usage }: ToldUse): Promise<void> => {
    const isMeant = (row: openCharges.OpenCharge): boolean =>
      threadId === null ? row.run_id === '' && row.object_id === id : row.run_id === id;
    const row = rows.find(isMeant);
    if (row === undefined || !isOver) return;
    try {
      await settleCharge((work) => database.transaction(work), row, usage, exchange.now);
    } catch (thrown) {
      if (!pipeline.isUnavailable(thrown)) pipeline.onFault(thrown, exchange.id);
    }
  };
  return {
    told: async (uses) => {
      for (const use of uses) await settle(use);
    },
    end: async () => undefined,
  };
}

const nothing = Buffer.alloc(0);

const nothingNoted: Note = {
  whole: async (body) => body,
  ofStream: () => ({
    ...{ outlivesCaller: false, isUnwanted: false },
    note: async () => undefined,
    end: async () => nothing,
  }),
};

function watched(note: Note, { told, end }: Watch): Note {
  return {
    whole: async (body) => {
      const shown = await note.whole(body);
      await told(toldUses(parsedJson(body.toString('utf8'))));
      await end();
      return shown;
    },
    ofStream: () => {
      const notes = note.ofStream();
      const textsIn = eventTexts();
      return {
        ...{ outlivesCaller: notes.outlivesCaller, isUnwanted: notes.isUnwanted },
        note: async (bytes) => {
          await notes.note(bytes);
          for (const text of textsIn(bytes)) {
            if (ofUse.test(text)) await told(toldUses(parsedJson(text)));
          }
        },
        end: async () => {
          const rest = await notes.end();
          await end();
          return rest;
        },
      };
    },
  };
}

/** What another server tells is no use of what this one was asked for. */
function isFor(row: openCharges.OpenCharge, target: ResolvedTarget, path: string): boolean {
  return row.provider === providerOf(target) && addressOf(row) === addressIn(target, path);
}

/** Where a service stands that was named by itself; a provider of a workspace says that for all who ask it. */
function addressIn({ workspaceProvider, call }: ResolvedTarget, path: string): string | null {
  if (workspaceProvider !== null) return null;
  const [whole] = call.path.split('?', 1) as [string];
  const prefix = whole.endsWith(path) ? whole.slice(0, -path.length) : whole;
  return call.origin + prefix;
}
