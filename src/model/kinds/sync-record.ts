/** Defines the status, revisions and suspensions of the sync on the wire. */
import { z } from 'zod';
import type { Ending } from '../../failure.ts';
import { ManagedName } from '../manifests/managed-by.ts';
import { DefinitionFinding } from '../mcp/definition-finding.ts';
import { ResponseTimestamp, Timestamp } from '../wire/timestamp.ts';
import { kindNames } from './kinds.ts';

/** State of an owner or of one of its workspaces. */
export const syncStates = ['Synced', 'OutOfSync', 'Progressing', 'Degraded', 'Suspended'] as const;

/** Commit id of Git, or `sha256:` and the digest of a folder's manifests. */
export const Commit = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters');
const Message = z.string().max(2000);
const Location = z.string().min(1).max(2048);
/** Null for resources outside of workspaces. */
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
 * Announcements that a run has made elsewhere, so that the next run does not repeat them. `delivery_id`
 * is part of each message of the last notification.
 */
const SyncAnnouncements = z.object({
  commit_status: z
    .object({ commit: Commit, state: z.enum(['pending', 'success', 'failure']) })
    .nullable(),
  notification: z
    .object({
      delivery_id: z.uuid(),
      is_delivered: z.boolean(),
      /** Until this time further changes are held back to limit the number of notifications. */
      paced_until: Timestamp,
      state: z.enum(syncStates),
      /** Workspaces that are not Synced. */
      workspaces: z
        .array(z.object({ workspace: Workspace, state: z.enum(syncStates) }))
        .max(reportedWorkspacesMax),
    })
    .nullable(),
});
export type SyncAnnouncements = z.infer<typeof SyncAnnouncements>;

/** Body of PUT /admin/v2/gatewright/sync/status. */
export const SyncReport = z.object({
  /** Folder path or Git URL without credentials. */
  source: Location,
  commit_seen: Commit.nullable(),
  commit_applied: Commit.nullable(),
  state: z.enum(syncStates),
  message: Message.nullable(),
  /** The last unresolved error, and its position in the source. */
  error: z
    .object({
      file: Location.nullable(),
      line: z.int().positive().nullable(),
      column: z.int().positive().nullable(),
      message: Message,
    })
    .nullable(),
  drift_count: z.int().min(0),
  /** The latest time of the next cycle; null for a run of one cycle. */
  next_look_at: Timestamp.nullable(),
  workspaces: z
    .array(WorkspaceReport)
    .max(reportedWorkspacesMax)
    .refine((list) => new Set(list.map(({ workspace }) => workspace)).size === list.length, {
      error: 'must name each workspace once',
    }),
  announced: SyncAnnouncements.optional(),
});
export type SyncReport = z.infer<typeof SyncReport>;

/** Maximum length of a reason in characters. */
export const reasonMax = 1000;

/** The revision that a rollback restored and its suspension preserves. */
const RollbackTarget = z.object({
  /** Number of the revision. */
  revision: z.int().min(1).max(2_147_483_647),
  commit: Commit,
});

/** A suspension: nothing in the workspace, or of the whole owner, is written until it ends. */
export const SyncSuspension = z.object({
  object: z.literal('sync_suspension'),
  owner: z.string(),
  /** Null for all resources of the owner. */
  workspace: z.string().nullable(),
  /** By the database's clock; null for a suspension without an end. */
  until: ResponseTimestamp.nullable(),
  reason: z.string(),
  /** Name of the service account, or its id if it has been deleted. */
  suspended_by: z.string(),
  suspended_at: ResponseTimestamp,
  rolled_back_to: RollbackTarget.nullable(),
});
export type SyncSuspension = z.infer<typeof SyncSuspension>;

/** A single line, so that it cannot imitate other lines of the output. */
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

/** Body of PUT /admin/v2/gatewright/sync/suspensions; without an end it lasts until it is lifted. */
export const SuspensionBody = z
  .object({
    owner: ManagedName,
    workspace: Workspace.optional(),
    until: Timestamp.nullable().optional(),
    /** Instead of `until`: seconds from now, by the database's clock. */
    for_seconds: z.int().min(1).max(forSecondsMax).optional(),
    reason: SuspensionReason,
    /** If absent, the value of an earlier suspension is retained. */
    rolled_back_to: RollbackTarget.nullable().optional(),
  })
  .refine((body) => body.until == null || body.for_seconds === undefined, {
    path: ['for_seconds'],
    error: 'excludes until',
  });
export type SuspensionBody = z.infer<typeof SuspensionBody>;

/** The newest revisions of each owner are retained, up to this number. */
export const revisionsMax = 50;
/** Stored changes of a revision; further ones are only counted. */
export const revisionChangesMax = 10_000;
/** Maximum changes in one request. */
export const changesPerRequestMax = 2500;

const changeActions = [
  'create',
  'update',
  'replace',
  'delete',
  'adopt',
  'rename',
  'release',
  'rotate',
] as const;

/** One change of a revision. It contains names of fields, never values. */
export const RevisionChange = z.object({
  action: z.enum(changeActions),
  kind: z.enum(kindNames),
  workspace: z.string().max(253).nullable(),
  name: z.string().min(1).max(1000),
  resource_id: z.uuid().nullable(),
  /** Paths in the spec, at most fifty. */
  fields: z.array(z.string().max(500)).max(50),
});
export type RevisionChange = z.infer<typeof RevisionChange>;

const endings = [
  'success',
  'unexpected',
  'changesPresent',
  'partialFailure',
  'refusedByGuard',
  'invalidInput',
  'unreachable',
  'retryable',
] as const satisfies readonly Ending[];

const Changes = z.array(RevisionChange).max(changesPerRequestMax);

/** Body of POST /admin/v2/gatewright/sync/revisions. */
export const RevisionBody = z.object({
  commit: Commit,
  source: Location,
  started_at: Timestamp,
  finished_at: Timestamp,
  ending: z.enum(endings),
  /** Total number of changes, including those that no request contains; defaults to the number sent. */
  change_count: z.int().min(0).optional(),
  /** The first changes; PUT …/changes adds more. */
  changes: Changes,
});
export type RevisionBody = z.infer<typeof RevisionBody>;

/** Body of PUT /admin/v2/gatewright/sync/revisions/{number}/changes. */
export const MoreChanges = z.object({
  /** Number of changes sent before, which makes a repeated request harmless. */
  start: z
    .int()
    .min(0)
    .max(revisionChangesMax - 1),
  changes: Changes.min(1),
});
export type MoreChanges = z.infer<typeof MoreChanges>;

/** One applied state of a source. Numbers ascend per owner and are never reused. */
export const SyncRevision = z.object({
  object: z.literal('sync_revision'),
  owner: z.string(),
  number: z.int().min(1),
  commit: z.string(),
  source: z.string(),
  /** By the clock of the run. */
  started_at: ResponseTimestamp,
  finished_at: ResponseTimestamp,
  /** By the database's clock. */
  recorded_at: ResponseTimestamp,
  ending: z.string(),
  change_count: z.int(),
  /** Number of stored changes. */
  recorded_count: z.int(),
});
export type SyncRevision = z.infer<typeof SyncRevision>;

export const RevisionWithChanges = SyncRevision.extend({ changes: z.array(RevisionChange) });
export type RevisionWithChanges = z.infer<typeof RevisionWithChanges>;

/** State of one owner according to its reports. */
export const SyncStatus = z.object({
  object: z.literal('sync_status'),
  owner: z.string(),
  /** Now, by the database's clock. */
  as_of: ResponseTimestamp,
  /** When the report arrived, by the same clock; null if none was ever sent. */
  told_at: ResponseTimestamp.nullable(),
  report: SyncReport.nullable(),
  /** The newest revision; null before the first. */
  revision: SyncRevision.nullable(),
  /** The run that holds the lease; null without one. */
  lease: z.object({ holder: z.string(), expires_at: ResponseTimestamp }).nullable(),
  suspensions: z.array(SyncSuspension),
  /** Definitions of MCP servers that are not trusted or that are suspicious; absent if there are none. */
  definitions: z.array(DefinitionFinding.extend({ integration: z.string() })).optional(),
});
export type SyncStatus = z.infer<typeof SyncStatus>;
