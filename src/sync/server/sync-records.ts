/** Knows how what the server keeps of runs of sync is read and told: status, revisions, suspensions. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import {
  changesPerRequestMax,
  type RevisionBody,
  type RevisionChange,
  RevisionWithChanges,
  revisionChangesMax,
  type SuspensionBody,
  type SyncReport,
  SyncRevision,
  SyncStatus,
  SyncSuspension,
} from '../../model/kinds/sync-record.ts';
import type { AdminClient } from './client.ts';
import { ApiRefusal } from './refusal.ts';

const base = '/admin/v2/gatewright/sync';

/**
 * The owners of the organisation by name, all or the one; null from a server that keeps no such thing.
 *
 * @throws what the client throws
 */
export async function readStatuses(
  client: AdminClient,
  owner: string | null,
  signal?: AbortSignal,
): Promise<SyncStatus[] | null> {
  return allPages(client, 'status', owner === null ? {} : { owner }, SyncStatus, signal);
}

/**
 * Tells where the client's owner stands; null from a server that keeps no such thing.
 *
 * @throws ApiRefusal once the lease is another's; what the client throws
 */
export async function tellStatus(
  client: AdminClient,
  fence: number,
  body: SyncReport,
  signal?: AbortSignal,
): Promise<SyncStatus | null> {
  const put = { method: 'PUT', path: `${base}/status`, countsAsWrite: false } as const;
  const answer = await unlessMissing(client.request({ ...put, fence, body, signal }));
  return answer === null ? null : parsed(SyncStatus, answer);
}

/** What bears on whether an owner may write now. */
export interface Standing {
  readonly suspensions: readonly SyncSuspension[];
  /** The newest; null before the first. */
  readonly revision: SyncRevision | null;
}

/**
 * Where the client's owner stands; at the beginning for a server that keeps no such thing.
 *
 * @throws what the client throws
 */
export async function readStanding(client: AdminClient, signal?: AbortSignal): Promise<Standing> {
  const Owner = z.object({
    suspensions: z.array(SyncSuspension),
    revision: SyncRevision.nullable(),
  });
  const query = { owner: client.owner };
  const owners = (await allPages(client, 'status', query, Owner, signal)) ?? [];
  return {
    suspensions: owners.flatMap(({ suspensions }) => suspensions),
    revision: owners[0]?.revision ?? null,
  };
}

/** The revisions of the client's owner, newest first; null from a server that keeps none. */
export function readRevisions(
  client: AdminClient,
  signal?: AbortSignal,
): Promise<SyncRevision[] | null> {
  return allPages(client, 'revisions', { owner: client.owner }, SyncRevision, signal);
}

/** One revision of the client's owner; null when there is none of that number. */
export async function readRevision(
  client: AdminClient,
  number: number,
  signal?: AbortSignal,
): Promise<RevisionWithChanges | null> {
  const path = `${base}/revisions/${number}?owner=${encodeURIComponent(client.owner)}`;
  const body = await unlessMissing(client.request({ method: 'GET', path, signal }));
  return body === null ? null : parsed(RevisionWithChanges, body);
}

/** What a run tells of itself; all changes, of which those that are kept are sent. */
export interface NewRevision extends Omit<RevisionBody, 'changes' | 'change_count'> {
  readonly changes: readonly RevisionChange[];
}

/**
 * Records a revision in parts that the server takes; nothing on a server that keeps none.
 *
 * @throws what the client throws; what was told until then is kept
 */
export async function recordRevision(
  client: AdminClient,
  fence: number,
  revision: NewRevision,
  signal?: AbortSignal,
): Promise<void> {
  const parts = partsOf(revision.changes.slice(0, revisionChangesMax));
  const telling = { fence, countsAsWrite: false, signal } as const;
  const body: RevisionBody = {
    ...revision,
    change_count: revision.changes.length,
    changes: parts[0] ?? [],
  };
  const first = { ...telling, method: 'POST', path: `${base}/revisions`, body } as const;
  const answer = await unlessMissing(client.request({ ...first, idempotencyKey: randomUUID() }));
  if (answer === null) return;
  const { number } = parsed(SyncRevision, answer);
  let start = body.changes.length;
  for (const changes of parts.slice(1)) {
    const path = `${base}/revisions/${number}/changes`;
    await client.request({ ...telling, method: 'PUT', path, body: { start, changes } });
    start += changes.length;
  }
}

/**
 * Suspends the owner or one of its workspaces.
 *
 * @throws ApiRefusal for what the server does not take; what the client throws
 */
export async function suspend(
  client: AdminClient,
  body: SuspensionBody,
  signal?: AbortSignal,
): Promise<SyncSuspension> {
  const path = `${base}/suspensions`;
  const told = await client.request({ method: 'PUT', path, body, countsAsWrite: false, signal });
  return parsed(SyncSuspension, told.body);
}

/** Ends a suspension of the client's owner; false when there was none. */
export async function resume(
  client: AdminClient,
  workspace: string | null,
  signal?: AbortSignal,
): Promise<boolean> {
  const query = { owner: client.owner, ...(workspace === null ? {} : { workspace }) };
  const path = `${base}/suspensions?${new URLSearchParams(query)}`;
  const told = await client.request({ method: 'DELETE', path, countsAsWrite: false, signal });
  return parsed(z.object({ ended: z.boolean() }), told.body).ended;
}

/** Below what one request may hold, whatever else is in it. */
const partBytesMax = 768 * 1024;
const partValuesMax = 18_500;
/** Of a change, beside its fields. */
const changeValues = 7;

function partsOf(changes: readonly RevisionChange[]): RevisionChange[][] {
  const parts: RevisionChange[][] = [];
  let [bytes, values] = [0, 0];
  for (const change of changes) {
    const length = Buffer.byteLength(JSON.stringify(change));
    const part = parts.at(-1);
    bytes += length;
    values += changeValues + change.fields.length;
    const fits = bytes <= partBytesMax && values <= partValuesMax;
    if (part !== undefined && fits && part.length < changesPerRequestMax) part.push(change);
    else {
      parts.push([change]);
      [bytes, values] = [length, changeValues + change.fields.length];
    }
  }
  return parts;
}

async function allPages<T extends z.ZodType>(
  client: AdminClient,
  list: string,
  query: Readonly<Record<string, string>>,
  item: T,
  signal: AbortSignal | undefined,
): Promise<z.output<T>[] | null> {
  const Page = z.object({ data: z.array(item), has_more: z.boolean() });
  const all: z.output<T>[] = [];
  for (let page = 0; ; page += 1) {
    const asked = new URLSearchParams({ ...query, current_page: String(page) });
    const path = `${base}/${list}?${asked}`;
    const body = await unlessMissing(client.request({ method: 'GET', path, signal }));
    if (body === null) return null;
    const { data, has_more } = parsed(Page, body);
    all.push(...data);
    if (!has_more) return all;
  }
}

/** Null from a server that has no such route, or nothing there. */
async function unlessMissing(asked: Promise<{ readonly body: unknown }>): Promise<unknown> {
  try {
    return (await asked).body;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return null;
    throw error;
  }
}

function parsed<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const message = 'the server tells of its syncs what this version cannot read';
  throw new Failure('unreachable', message, { cause: result.error });
}
