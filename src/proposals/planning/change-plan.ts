/** Plans what a changed manifest would do on the server, beyond what sync would do anyway. */
import { Failure } from '../../failure.ts';
import type { Snapshot } from '../../model/kinds/snapshot.ts';
import { type ReadSource, readSource } from '../../sync/desired/desired.ts';
import { makePlan } from '../../sync/plan/plan.ts';
import type { Plan } from '../../sync/plan/plan-model.ts';
import { planDocument } from '../../sync/report/document.ts';
import type { SourceNote } from '../../sync/resources/resource-set.ts';
import { beyondBase } from '../../sync/review/beyond-base.ts';
import { toLiveSet } from '../../sync/server/live.ts';
import type { SourceFiles } from '../../sync/source/source-files.ts';

/** Values of secrets and variables are where sync runs, not on the server. */
const withoutValues = {
  environment: () => undefined,
  readValue: async () => undefined,
  requireSecrets: false,
} as const;

export function readWithoutValues(files: SourceFiles): Promise<ReadSource> {
  return readSource(files, withoutValues);
}

export interface ChangeFault {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly fix: string | null;
  /** Whether the change causes it; otherwise it was there before. */
  readonly is_new: boolean;
}

/** A part of the plan document of `gatewright plan`, as the API returns it. */
export interface ShortPlan {
  readonly changes: {
    readonly id: string;
    readonly action: string;
    readonly reason: string;
    readonly loosens: boolean;
    readonly fields: {
      readonly path: string;
      readonly from: unknown;
      readonly to: unknown;
      readonly secret: boolean;
      readonly loosens: boolean;
    }[];
  }[];
  readonly blocked: { readonly id: string; readonly reason: string; readonly message: string }[];
  readonly warnings: string[];
}

export interface ChangePlan {
  /** Null where faults prevent a plan. */
  readonly plan: ShortPlan | null;
  /** Faults that the change causes, and faults of the changed file. */
  readonly faults: readonly ChangeFault[];
}

export interface PlannedSources {
  readonly base: ReadSource;
  readonly head: ReadSource;
  /** The changed file. */
  readonly path: string;
  readonly owner: string;
  readonly snapshot: Snapshot;
  readonly now: number;
}

export function planChange(sources: PlannedSources): ChangePlan {
  const { base, head, path } = sources;
  const known = new Set(notesOf(base).map(noteKey));
  const faults = notesOf(head)
    .map((note) => changeFault(note, !known.has(noteKey(note))))
    .filter((fault) => fault.is_new || fault.path === path);
  if (faults.length > 0) return { plan: null, faults };
  try {
    const plan = beyondBase(planOf(head, sources), planOf(base, sources)).plan;
    return { plan: shortPlan(planDocument(plan, plan.warnings)), faults: [] };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { message } = error;
    const fault = { path, line: 1, column: 1, message, fix: null, is_new: true };
    return { plan: null, faults: [fault] };
  }
}

/** Leaves out what concerns the whole source, and not the change. */
function shortPlan(document: Record<string, unknown>): ShortPlan {
  const { changes, blocked, warnings } = document as unknown as ShortPlan;
  return {
    changes: changes.map(({ id, action, reason, loosens, fields }) => ({
      id,
      action,
      reason,
      loosens,
      fields: fields.map((field) => ({
        path: field.path,
        from: field.from,
        to: field.to,
        secret: field.secret,
        loosens: field.loosens,
      })),
    })),
    blocked: blocked.map(({ id, reason, message }) => ({ id, reason, message })),
    warnings: [...warnings],
  };
}

function planOf({ set }: ReadSource, { owner, snapshot, now }: PlannedSources): Plan {
  const live = toLiveSet({ snapshot, etag: '' }, owner, set.externals);
  return makePlan(set, live, { owner, takeOwnership: false, prune: true, now });
}

function notesOf({ set, waiting }: ReadSource): SourceNote[] {
  const held = set.faults.length > 0 ? set.faults : waiting;
  return held.map(({ fault }) => fault);
}

/** Lines move with the change. */
function noteKey({ position, code, message }: SourceNote): string {
  return JSON.stringify([position.file, code, message]);
}

function changeFault({ position, message, fix }: SourceNote, isNew: boolean): ChangeFault {
  const { file, line, column } = position;
  return { path: file, line, column, message, fix: fix ?? null, is_new: isNew };
}
