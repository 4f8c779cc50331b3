/** Knows what runs of sync tell the server of themselves: status, revisions and suspensions, as they travel. */
import { z } from 'zod';
import type { Ending } from '../../failure.ts';
import { kindNames } from './kinds.ts';
import { ManagedName } from '../manifests/managed-by.ts';
import { AnsweredTimestamp, Timestamp } from '../wire/timestamp.ts';

/** Where an owner, or one of its workspaces, stands. */
export const syncStates = ['Synced', 'OutOfSync', 'Progressing', 'Degraded', 'Suspended'] as const;

/** Commit id of Git, or `sha256:` and the digest of a folder's manifests. */
const Commit = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters');
const Message = z.string().max(2000);
const Location = z.string().min(1).max(2048);
/** Null is what belongs to no workspace. */
const Workspace = ManagedName.nullable();

export const reportedWorkspacesMax = 1000;

const WorkspaceReport = z.object({
  workspace: Workspace,
  commit_applied: Commit.nullable(),
  state: z.enum(syncStates),
  message: Message.nullable(),
  drift_count: z.int().min(0),
});

/**
 * What a run has told others than the server, so that the one after it does not tell it again.
 * `delivery_id` goes with each message of the notification that was told last.
 */
const Announced = z.object({
  commit_status: z
    .object({ commit: Commit, state: z.enum(['pending', 'success', 'failure']) })
    .nullable(),
  notification: z
    .object({
      delivery_id: z.uuid(),
      is_delivered: z.boolean(),
      /** Until when this many changes are more than what is told at once. */
      paced_until: Timestamp,
      state: z.enum(syncStates),
      /** Those that are not Synced. */
      workspaces: z
        .array(z.object({ workspace: Workspace, state: z.enum(syncStates) }))
        .max(reportedWorkspacesMax),
    })
    .nullable(),
});
export type Announced = z.infer<typeof Announced>;

/** Body of PUT /admin/v2/gatewright/sync/status. */
export const SyncReport = z.object({
  /** Folder path or Git URL without credentials. */
  source: Location,
  commit_seen: Commit.nullable(),
  commit_applied: Commit.nullable(),
  state: z.enum(syncStates),
  message: Message.nullable(),
  /** The last error that still stands, and its place in the source. */
  error: z
    .object({
      file: Location.nullable(),
      line: z.int().positive().nullable(),
      column: z.int().positive().nullable(),
      message: Message,
    })
    .nullable(),
  drift_count: z.int().min(0),
  /** When the next look is due at the latest; null for a run that looks once. */
  next_look_at: Timestamp.nullable(),
  workspaces: z
    .array(WorkspaceReport)
    .max(reportedWorkspacesMax)
    .refine((all) => new Set(all.map(({ workspace }) => workspace)).size === all.length, {
      error: 'must name each workspace once',
    }),
  announced: Announced.optional(),
});
export type SyncReport = z.infer<typeof SyncReport>;

/** How long a reason may be, in characters. */
export const reasonMax = 1000;

/** What a rollback has brought back, and its suspension keeps so. */
const RolledBackTo = z.object({
  /** Number of the revision. */
  revision: z.int().min(1).max(2_147_483_647),
  commit: Commit,
});

/** A told pause: nothing of the workspace, or of the whole owner, is written until it ends. */
export const SyncSuspension = z.object({
  object: z.literal('sync_suspension'),
  owner: z.string(),
  /** Null for everything of the owner. */
  workspace: z.string().nullable(),
  /** By the database's clock; null until somebody resumes. */
  until: AnsweredTimestamp.nullable(),
  reason: z.string(),
  /** Name of the service account, or its id once it is gone. */
  suspended_by: z.string(),
  suspended_at: AnsweredTimestamp,
  rolled_back_to: RolledBackTo.nullable(),
});
export type SyncSuspension = z.infer<typeof SyncSuspension>;

/** One line, so that it cannot feign others where it is shown. */
export const SuspensionReason = z
  .string()
  .trim()
  .min(1)
  .max(reasonMax)
  .regex(
    /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/,
    'must be one line without control characters',
  );

const forSecondsMax = 366 * 86_400;

/** Body of PUT /admin/v2/gatewright/sync/suspensions; without an end it lasts until it is ended. */
export const SuspensionBody = z
  .object({
    owner: ManagedName,
    workspace: Workspace.optional(),
    until: Timestamp.nullable().optional(),
    /** Instead of `until`: from now on by the database's clock. */
    for_seconds: z.int().min(1).max(forSecondsMax).optional(),
    reason: SuspensionReason,
    /** Left out: as an earlier suspension of the same has it. */
    rolled_back_to: RolledBackTo.nullable().optional(),
  })
  .refine((body) => body.until == null || body.for_seconds === undefined, {
    path: ['for_seconds'],
    error: 'excludes until',
  });
export type SuspensionBody = z.infer<typeof SuspensionBody>;

/** Revisions that are kept of each owner, the newest. */
export const revisionsKept = 50;
/** Changes that are kept of a revision; what is beyond them is counted. */
export const revisionChangesMax = 10_000;
/** Changes that one request may tell. */
export const changesToldMax = 2500;

const changeActions = [
  ...['create', 'update', 'replace', 'delete', 'adopt', 'rename', 'release', 'rotate'],
] as const;

/** One thing that a revision did. Names of fields, never values. */
export const RevisionChange = z.object({
  action: z.enum(changeActions),
  kind: z.enum(kindNames),
  workspace: z.string().max(253).nullable(),
  name: z.string().min(1).max(1000),
  resource_id: z.uuid().nullable(),
  /** Paths in the spec, the first fifty. */
  fields: z.array(z.string().max(500)).max(50),
});
export type RevisionChange = z.infer<typeof RevisionChange>;

const endings = [
  ...['success', 'unexpected', 'changesPresent', 'partialFailure', 'refusedByGuard'],
  ...['invalidInput', 'unreachable', 'retryable'],
] as const satisfies readonly Ending[];

const Changes = z.array(RevisionChange).max(changesToldMax);

/** Body of POST /admin/v2/gatewright/sync/revisions. */
export const RevisionBody = z.object({
  commit: Commit,
  source: Location,
  started_at: Timestamp,
  finished_at: Timestamp,
  ending: z.enum(endings),
  /** All that were made, also those that no request tells; as many as are told when absent. */
  change_count: z.int().min(0).optional(),
  /** The first of them; PUT …/changes tells more. */
  changes: Changes,
});
export type RevisionBody = z.infer<typeof RevisionBody>;

/** Body of PUT /admin/v2/gatewright/sync/revisions/{number}/changes. */
export const MoreChanges = z.object({
  /** How many have been told before: sent again it is harmless. */
  start: z
    .int()
    .min(0)
    .max(revisionChangesMax - 1),
  changes: Changes.min(1),
});
export type MoreChanges = z.infer<typeof MoreChanges>;

/** One applied state of a source; numbers of an owner grow by one and are never given twice. */
export const SyncRevision = z.object({
  object: z.literal('sync_revision'),
  owner: z.string(),
  number: z.int().min(1),
  commit: z.string(),
  source: z.string(),
  /** By the clock of the run. */
  started_at: AnsweredTimestamp,
  finished_at: AnsweredTimestamp,
  /** By the database's clock. */
  recorded_at: AnsweredTimestamp,
  ending: z.string(),
  change_count: z.int(),
  /** How many of them are kept. */
  recorded_count: z.int(),
});
export type SyncRevision = z.infer<typeof SyncRevision>;

export const RevisionWithChanges = SyncRevision.extend({ changes: z.array(RevisionChange) });
export type RevisionWithChanges = z.infer<typeof RevisionWithChanges>;

/** Where one owner stands, as the server has been told. */
export const SyncStatus = z.object({
  object: z.literal('sync_status'),
  owner: z.string(),
  /** Now, by the database's clock. */
  as_of: AnsweredTimestamp,
  /** When the report came, by the same clock; null for an owner that never sent one. */
  told_at: AnsweredTimestamp.nullable(),
  report: SyncReport.nullable(),
  /** The newest revision; null before the first. */
  revision: SyncRevision.nullable(),
  /** The run that holds the lease; null while nobody does. */
  lease: z.object({ holder: z.string(), expires_at: AnsweredTimestamp }).nullable(),
  suspensions: z.array(SyncSuspension),
});
export type SyncStatus = z.infer<typeof SyncStatus>;
