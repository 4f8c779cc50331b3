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

export interface ChangePlan {
  /** Part of the plan document of `gatewright plan`; null where faults prevent a plan. */
  readonly plan: Record<string, unknown> | null;
  /** Those that the change causes, and those of the changed file. */
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
    const { summary, changes, blocked, warnings } = planDocument(plan, plan.warnings);
    return { plan: { summary, changes, blocked, warnings }, faults: [] };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { message } = error;
    const fault = { path, line: 1, column: 1, message, fix: null, is_new: true };
    return { plan: null, faults: [fault] };
  }
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
