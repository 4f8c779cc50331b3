/** HTTP route that lists what an operator has to look at: spent budgets, ends of keys, and failing requests. */
import { z } from 'zod';
import { hasRight } from '../auth/person-rights.ts';
import type { Principal } from '../auth/principal.ts';
import { type Route, route } from '../http/routes/route.ts';
import type { SyncReport } from '../model/kinds/sync-record.ts';
import { fromUnits } from '../model/limits/limits.ts';
import { ApiKeySubType } from '../model/people/api-key.ts';
import { grantsScope } from '../model/people/scopes.ts';
import { wholeNumberParameter } from '../model/wire/paging.ts';
import {
  formatTimestamp,
  formatTimestampOrNull,
  ResponseTimestamp,
} from '../model/wire/timestamp.ts';
import { validationError } from '../model/wire/validation-error.ts';
import { requiredRight } from '../model/workspaces/security-settings.ts';
import type { Db } from '../store/connection/db.ts';
import * as failingSubjects from '../store/logs/failing-subjects.ts';
import * as endingKeys from '../store/resources/ending-keys.ts';
import type { StoredWorkspace } from '../store/resources/workspaces.ts';
import type { NamedSubject, SubjectKind, SubjectPlace } from '../store/rows/subject-place.ts';
import * as jobRuns from '../store/sync/job-runs.ts';
import * as syncStatus from '../store/sync/sync-status.ts';
import * as spentBudgets from '../store/usage/spent-budgets.ts';
import * as usageAlerts from '../store/usage/usage-alerts.ts';
import * as usageBudgets from '../store/usage/usage-budgets.ts';
import { visibleKeys } from './access/visibility.ts';
import { keyListScopes, listableKeyTypes } from './api-keys/api-keys.ts';
import type { AdminDeps } from './request/deps.ts';
import { type QueryRequest, WorkspaceQuery } from './request/frame-fields.ts';
import { resolveWorkspace } from './request/scoping.ts';

const pageSizeMax = 100;
const pageSizeDefault = 20;
const hourMs = 3_600_000;
/** A key that ends within this time needs attention, and so does one that ended within it. */
const endingMs = 7 * 86_400_000;
/** For how long an alert that was given up needs attention. */
const undeliveredMs = 7 * 86_400_000;

const kinds = [
  'SyncOwner',
  'Job',
  'Alert',
  'ApiKey',
  'Workspace',
  'Provider',
  'UsageLimitPolicy',
] as const;
const reasons = [
  'out_of_sync',
  'exhausted',
  'failing',
  'undelivered',
  'expiring',
  'nearly_exhausted',
  'expired',
] as const;

const AttentionQuery = WorkspaceQuery.extend({
  page_size: wholeNumberParameter(1, pageSizeMax).default(pageSizeDefault),
  cursor: z.string().max(500).optional(),
});

const Matter = z.object({
  object: z.literal('attention'),
  kind: z.enum(kinds),
  id: z.string().describe('Id of the resource or alert; the name of an owner of sync or of a job.'),
  name: z.string().nullable(),
  workspace_id: z.uuid().nullable(),
  reason: z
    .enum(reasons)
    .describe(
      '`nearly_exhausted`: 80 % of the budget are used. `failing`: half of the requests, or the last run of a job. `undelivered`: an alert.',
    ),
  budget: z
    .object({
      type: z.enum(['cost', 'tokens', 'requests']),
      used: z.number().describe('Use in the current window: US dollars, tokens or requests.'),
      limit: z.number().describe('The budget of one window, in the same unit.'),
      resets_at: ResponseTimestamp.nullable().describe('End of the window; null for never.'),
    })
    .nullable()
    .describe('Null for other reasons, and for a policy, which has many counters.'),
  expires_at: ResponseTimestamp.nullable().describe('End of a key that ends or has ended.'),
  failures: z
    .object({
      requests: z.int().describe('Requests since then.'),
      errors: z.int().describe('Failed ones, without those that guardrails denied.'),
      since: ResponseTimestamp.describe('Beginning of the hour before the current one.'),
    })
    .nullable()
    .describe('Null for other reasons.'),
  sync: z
    .object({
      state: z.string().describe('State of the last report, other than `Synced`.'),
      message: z.string().nullable().describe('Its error or message.'),
      drift_count: z.int().describe('Number of fields that drifted.'),
    })
    .nullable()
    .describe('Null for other reasons.'),
  failed_at: ResponseTimestamp.nullable().describe(
    'End of the last run of a job, or when an alert was given up; null for other kinds.',
  ),
});
type Matter = z.infer<typeof Matter>;

const AttentionPage = z.object({
  object: z.literal('list'),
  data: z.array(Matter),
  next_cursor: z.string().nullable(),
});

const listScopes: Readonly<Record<Matter['kind'], readonly string[]>> = {
  SyncOwner: ['organisation_settings.read'],
  Job: ['organisation_settings.read'],
  Alert: ['organisation_settings.read'],
  ApiKey: keyListScopes,
  Workspace: ['workspaces.list'],
  Provider: ['providers.list'],
  UsageLimitPolicy: ['policies.list'],
};

export function attentionRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: { admin: ['access-token', 'session'] },
      method: 'GET',
      path: '/gatewright/attention',
      scope: Object.values(listScopes).flat(),
      summary: 'List what needs attention, the most urgent first',
      query: AttentionQuery,
      response: AttentionPage,
      handle: (request) => list(deps, request),
    }),
  ];
}

/** A matter with its place in its list. */
interface PlacedMatter {
  readonly matter: Matter;
  readonly at: number;
}

/** Matters of one kind and reason. */
interface MatterList {
  readonly kind: Matter['kind'];
  readonly reason: Matter['reason'];
  readonly read: (db: Db, place: SubjectPlace) => Promise<PlacedMatter[]>;
}

/** The most urgent first. A page ends within a list, and the next one goes on there. */
const lists: readonly MatterList[] = [
  { kind: 'SyncOwner', reason: 'out_of_sync', read: readOwners },
  { kind: 'Job', reason: 'failing', read: readJobs },
  spentList('ApiKey', 'exhausted'),
  spentList('Workspace', 'exhausted'),
  spentList('Provider', 'exhausted'),
  { kind: 'UsageLimitPolicy', reason: 'exhausted', read: readPolicies },
  failingList('Provider'),
  failingList('ApiKey'),
  { kind: 'Alert', reason: 'undelivered', read: readAlerts },
  endingList('expiring'),
  spentList('ApiKey', 'nearly_exhausted'),
  spentList('Workspace', 'nearly_exhausted'),
  spentList('Provider', 'nearly_exhausted'),
  endingList('expired'),
];

async function list(
  { database }: AdminDeps,
  { caller, query, now }: QueryRequest<z.infer<typeof AttentionQuery>>,
): Promise<z.infer<typeof AttentionPage>> {
  const db = database.readable;
  const workspace = await resolveWorkspace(db, caller, query.workspace_id);
  const start = parseCursor(query.cursor);
  const mayList = await listableBy(db, caller, workspace);
  const place = {
    organisationId: caller.organisationId,
    workspaceId: workspace?.id,
    keyTypes: listableKeyTypes(caller, {}, ApiKeySubType.options),
    userId: caller.person?.actsForOthers === false ? caller.person.userId : undefined,
    now,
  };
  const found: PlacedMatter[] = [];
  for (const one of lists.slice(start.list)) {
    const limit = query.page_size + 1 - found.length;
    if (limit === 0) break;
    const after = one === lists[start.list] ? start.after : null;
    if (mayList(one)) found.push(...(await one.read(db, { ...place, after, limit })));
  }
  const page = found.slice(0, query.page_size);
  const last = found.length > page.length ? page.at(-1) : undefined;
  return {
    object: 'list',
    data: page.map(({ matter }) => matter),
    next_cursor: last === undefined ? null : cursorOf(last),
  };
}

/** Kinds that belong to no workspace. */
const ofAllWorkspaces: ReadonlySet<Matter['kind']> = new Set(['SyncOwner', 'Job', 'Alert']);

/** The lists that the caller may read, by scopes and by what the workspace shows to people of their role. */
async function listableBy(
  db: Db,
  caller: Principal,
  workspace: StoredWorkspace | null,
): Promise<(list: MatterList) => boolean> {
  const { person, organisationId, scopes } = caller;
  const mayRead = async (required: readonly string[]): Promise<boolean> => {
    if (!required.some((scope) => grantsScope(scopes, scope))) return false;
    const right = requiredRight(required);
    if (person === null || right === undefined) return true;
    return hasRight(db, { organisationId, userId: person.userId }, workspace, right);
  };
  const readable = new Map<Matter['kind'], boolean>();
  for (const kind of kinds) readable.set(kind, await mayRead(listScopes[kind]));
  const hasFigures =
    grantsScope(scopes, 'analytics.view') &&
    (person === null ||
      (await hasRight(
        db,
        { organisationId, userId: person.userId },
        workspace,
        'ViewAnalytics',
      ))) &&
    (await visibleKeys(db, caller, workspace)) === null;
  return ({ kind, reason }) => {
    if (workspace !== null && ofAllWorkspaces.has(kind)) return false;
    const countsRequests = reason === 'failing' && kind !== 'Job';
    return readable.get(kind) === true && (!countsRequests || hasFigures);
  };
}

const subjectKinds = {
  ApiKey: 'api_key',
  Workspace: 'workspace',
  Provider: 'provider',
} as const satisfies Partial<Record<Matter['kind'], SubjectKind>>;

function matterOf(
  kind: Matter['kind'],
  reason: Matter['reason'],
  { id, name, workspace_id }: Omit<NamedSubject, 'name'> & { readonly name: string | null },
  facts: Partial<Pick<Matter, 'budget' | 'expires_at' | 'failures' | 'sync' | 'failed_at'>> = {},
): Matter {
  const none = { budget: null, expires_at: null, failures: null, sync: null, failed_at: null };
  return { object: 'attention', kind, id, name, workspace_id, reason, ...none, ...facts };
}

function spentList(kind: keyof typeof subjectKinds, reason: spentBudgets.SpentState): MatterList {
  const read = async (db: Db, place: SubjectPlace): Promise<PlacedMatter[]> => {
    const rows = await spentBudgets.listSpent(db, subjectKinds[kind], reason, place);
    return rows.map((row) => {
      const budget = {
        type: row.type,
        used: fromUnits(BigInt(row.used_units), row.type),
        limit: fromUnits(row.credit_limit_units, row.type),
        resets_at: formatTimestampOrNull(usageBudgets.windowAt(row, place.now).nextResetAtMs),
      };
      return { matter: matterOf(kind, reason, row, { budget }), at: 0 };
    });
  };
  return { kind, reason, read };
}

async function readOwners(
  db: Db,
  { organisationId, after, limit }: SubjectPlace,
): Promise<PlacedMatter[]> {
  const rows = await syncStatus.listUnsynced(db, organisationId, after?.id ?? '', limit);
  return rows.map(({ owner, report }) => {
    const { state, error, message, drift_count } = JSON.parse(report) as SyncReport;
    const sync = { state, message: error?.message ?? message ?? null, drift_count };
    const subject = { id: owner, name: owner, workspace_id: null };
    return { matter: matterOf('SyncOwner', 'out_of_sync', subject, { sync }), at: 0 };
  });
}

/** The error of a run is for the operators of the server, in its log. */
async function readJobs(db: Db, { after, limit }: SubjectPlace): Promise<PlacedMatter[]> {
  const rows = await jobRuns.listFailing(db, after?.id ?? '', limit);
  return rows.map(({ name, finished_at: at }) => {
    const subject = { id: name, name, workspace_id: null };
    return {
      matter: matterOf('Job', 'failing', subject, { failed_at: formatTimestamp(at) }),
      at: 0,
    };
  });
}

async function readAlerts(
  db: Db,
  { organisationId, now, after, limit }: SubjectPlace,
): Promise<PlacedMatter[]> {
  const rows = await usageAlerts.listFailed(db, organisationId, now - undeliveredMs, {
    after,
    limit,
  });
  return rows.map(({ id, label, failedAtMs }) => {
    const subject = { id, name: label, workspace_id: null };
    const facts = { failed_at: formatTimestamp(failedAtMs) };
    return { matter: matterOf('Alert', 'undelivered', subject, facts), at: failedAtMs };
  });
}

async function readPolicies(db: Db, place: SubjectPlace): Promise<PlacedMatter[]> {
  const rows = await spentBudgets.listSpentPolicies(db, place);
  return rows.map((row) => ({ matter: matterOf('UsageLimitPolicy', 'exhausted', row), at: 0 }));
}

function failingList(kind: 'ApiKey' | 'Provider'): MatterList {
  const read = async (db: Db, place: SubjectPlace): Promise<PlacedMatter[]> => {
    const from = Math.floor(place.now / hourMs) * hourMs - hourMs;
    const rows = await failingSubjects.listFailing(db, subjectKinds[kind], from, place);
    return rows.map((row) => {
      const failures = {
        requests: Number(row.requests),
        errors: Number(row.errors),
        since: formatTimestamp(from),
      };
      return { matter: matterOf(kind, 'failing', row, { failures }), at: 0 };
    });
  };
  return { kind, reason: 'failing', read };
}

function endingList(reason: 'expiring' | 'expired'): MatterList {
  const read = async (db: Db, place: SubjectPlace): Promise<PlacedMatter[]> => {
    const { now } = place;
    const times =
      reason === 'expiring' ? { from: now, to: now + endingMs } : { from: now - endingMs, to: now };
    const rows = await endingKeys.listEnding(db, times, place);
    return rows.map((row) => {
      const facts = { expires_at: formatTimestamp(row.expires_at) };
      return { matter: matterOf('ApiKey', reason, row, facts), at: row.expires_at };
    });
  };
  return { kind: 'ApiKey', reason, read };
}

function cursorOf({ matter: { kind, reason, id }, at }: PlacedMatter): string {
  return `${kind}.${reason}.${at}.${id}`;
}

/** @throws ApiError `invalid` for a malformed cursor */
function parseCursor(cursor: string | undefined): {
  /** Index of the list in which the page begins. */
  readonly list: number;
  readonly after: SubjectPlace['after'];
} {
  if (cursor === undefined) return { list: 0, after: null };
  // Names of owners may contain dots.
  const [kind, reason, at = '', ...rest] = cursor.split('.');
  const id = rest.join('.');
  const list = lists.findIndex((one) => one.kind === kind && one.reason === reason);
  if (list >= 0 && /^\d{1,15}$/.test(at) && id !== '') {
    return { list, after: { at: Number(at), id } };
  }
  throw validationError({ path: ['cursor'], message: 'must be the next_cursor of a page' });
}
