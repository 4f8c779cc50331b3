/** Reads and writes the sync records of the server: statuses, revisions and suspensions. */
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
import type { SyncSource } from '../../model/kinds/sync-source.ts';
import type { AdminClient } from './client.ts';
import { ApiRefusal } from './refusal.ts';

const base = '/admin/v2/gatewright/sync';

/**
 * Returns the statuses of all owners of the organisation, or of one; null from a server without
 * them.
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
 * Stores the status of the client's owner; null from a server without statuses.
 *
 * @throws ApiRefusal when another run holds the lease; what the client throws
 */
export async function putStatus(
  client: AdminClient,
  fence: number,
  body: SyncReport,
  signal?: AbortSignal,
): Promise<SyncStatus | null> {
  const put = { method: 'PUT', path: `${base}/status`, countsAsWrite: false } as const;
  const answer = await unlessMissing(client.request({ ...put, fence, body, signal }));
  return answer === null ? null : parsed(SyncStatus, answer);
}

/**
 * Stores the files of the client's owner; false on a server without proposals.
 *
 * @throws ApiRefusal when another run holds the lease; what the client throws
 */
export async function putSource(
  client: AdminClient,
  fence: number,
  body: SyncSource,
  signal: AbortSignal,
): Promise<boolean> {
  const put = { method: 'PUT', path: `${base}/sources`, countsAsWrite: false } as const;
  return (await unlessMissing(client.request({ ...put, fence, body, signal }))) !== null;
}

/** The records that decide whether an owner may write now. */
export interface OwnerStanding {
  readonly suspensions: readonly SyncSuspension[];
  /** The newest revision; null before the first. */
  readonly revision: SyncRevision | null;
}

/**
 * Returns the standing of the client's owner; empty from a server without such records.
 *
 * @throws what the client throws
 */
export async function readStanding(
  client: AdminClient,
  signal?: AbortSignal,
): Promise<OwnerStanding> {
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

/**
 * Returns the revisions of the client's owner, newest first; null from a server without revisions.
 */
export function readRevisions(
  client: AdminClient,
  signal?: AbortSignal,
): Promise<SyncRevision[] | null> {
  return allPages(client, 'revisions', { owner: client.owner }, SyncRevision, signal);
}

/** Returns one revision of the client's owner; null when the number does not exist. */
export async function readRevision(
  client: AdminClient,
  number: number,
  signal?: AbortSignal,
): Promise<RevisionWithChanges | null> {
  const path = `${base}/revisions/${number}?owner=${encodeURIComponent(client.owner)}`;
  const body = await unlessMissing(client.request({ method: 'GET', path, signal }));
  return body === null ? null : parsed(RevisionWithChanges, body);
}

/** A revision with all its changes; the server stores a limited number of them. */
export interface NewRevision extends Omit<RevisionBody, 'changes' | 'change_count'> {
  readonly changes: readonly RevisionChange[];
}

/**
 * Records a revision in parts of acceptable size; does nothing on a server without revisions.
 *
 * @throws what the client throws; the parts recorded until then are stored
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
 * @throws ApiRefusal when the server rejects it; what the client throws
 */
export async function createSuspension(
  client: AdminClient,
  body: SuspensionBody,
  signal?: AbortSignal,
): Promise<SyncSuspension> {
  const path = `${base}/suspensions`;
  const response = await client.request({
    method: 'PUT',
    path,
    body,
    countsAsWrite: false,
    signal,
  });
  return parsed(SyncSuspension, response.body);
}

/** Ends a suspension of the client's owner; returns false when there was none. */
export async function deleteSuspension(
  client: AdminClient,
  workspace: string | null,
  signal?: AbortSignal,
): Promise<boolean> {
  const query = { owner: client.owner, ...(workspace === null ? {} : { workspace }) };
  const path = `${base}/suspensions?${new URLSearchParams(query)}`;
  const response = await client.request({ method: 'DELETE', path, countsAsWrite: false, signal });
  return parsed(z.object({ ended: z.boolean() }), response.body).ended;
}

/** Limits below those of a request, leaving room for the other fields. */
const partBytesMax = 768 * 1024;
const partValuesMax = 18_500;
/** JSON values of a change besides its fields. */
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
    const search = new URLSearchParams({ ...query, current_page: String(page) });
    const path = `${base}/${list}?${search}`;
    const body = await unlessMissing(client.request({ method: 'GET', path, signal }));
    if (body === null) return null;
    const { data, has_more } = parsed(Page, body);
    all.push(...data);
    if (!has_more) return all;
  }
}

/** Returns null from a server without the route or the record. */
async function unlessMissing(request: Promise<{ readonly body: unknown }>): Promise<unknown> {
  try {
    return (await request).body;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return null;
    throw error;
  }
}

function parsed<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const message = 'the server returned sync records that this version cannot read';
  throw new Failure('unreachable', message, { cause: result.error });
}
