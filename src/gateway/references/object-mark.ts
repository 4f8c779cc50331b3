/** Adds and removes the mark by which a created object is found at its provider when the response is lost. */

import { createHash, randomBytes } from 'node:crypto';
import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import { locateMembers, withMembers } from '../../model/json/json-object.ts';
import { isObject, readJson } from '../../model/json/read-object.ts';
import type { Owner } from '../../objects/owner.ts';

/** Name of the mark in the metadata of an object. */
const memberName = 'gatewright_mark';
/** Maximum number of metadata entries that providers accept. */
const membersMax = 16;

/** Kinds that have metadata and can be listed at providers. */
const markedKinds: ReadonlySet<ObjectKind> = new Set([
  'vector_stores',
  'assistants',
  'batches',
  'evals',
  'fine_tuning_jobs',
]);

export function carriesMark(kind: ObjectKind): boolean {
  return markedKinds.has(kind);
}

/**
 * Returns an unguessable mark. A request that is repeated with the same idempotency key gets the same mark,
 * because the provider would otherwise treat it as a different request.
 */
export function newMark(
  owner: Owner,
  kind: ObjectKind,
  idempotencyKey: string | undefined,
): string {
  if (idempotencyKey === undefined) return randomBytes(16).toString('hex');
  const { organisationId, workspaceId } = owner;
  const text = JSON.stringify([organisationId, workspaceId, kind, idempotencyKey]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Adds the mark and leaves all other bytes unchanged; returns the body as it is when the mark does not fit. */
export function markedBody(body: Buffer, mark: string): Buffer {
  const members = locateMembers(body);
  if (members === null) return body;
  const changes = new Map([[memberName, mark]]);
  const metadata = members.get('metadata');
  const value = metadata && body.subarray(metadata.valueStart, metadata.end);
  if (value === undefined || value.equals(nullBytes)) {
    const own = Object.fromEntries(changes);
    return withMembers(body, members, new Map([['metadata', own]]));
  }
  const pairs = value[0] === openBrace ? locateMembers(value) : null;
  if (pairs === null || (pairs.size >= membersMax && !pairs.has(memberName))) return body;
  const marked = withMembers(value, pairs, changes);
  return Buffer.concat([
    body.subarray(0, metadata!.valueStart),
    marked,
    body.subarray(metadata!.end),
  ]);
}

const nullBytes = Buffer.from('null');
const openBrace = 0x7b;

/** Removes the mark from a response. */
export function unmarkedBody(body: Buffer): Buffer {
  if (!body.includes(memberName) || !isObject(readJson(body.toString('utf8')))) return body;
  const metadata = locateMembers(body)?.get('metadata');
  const value = metadata && body.subarray(metadata.valueStart, metadata.end);
  const pairs = value?.[0] === openBrace ? locateMembers(value) : null;
  if (pairs?.has(memberName) !== true) return body;
  const own = withMembers(value!, pairs, new Map([[memberName, undefined]]));
  return Buffer.concat([body.subarray(0, metadata!.valueStart), own, body.subarray(metadata!.end)]);
}

type JsonObject = Readonly<Record<string, unknown>>;

export function unmarked<T extends JsonObject>(object: T): T {
  const { metadata } = object;
  if (!isObject(metadata) || !Object.hasOwn(metadata, memberName)) return object;
  const { [memberName]: _, ...own } = metadata;
  return { ...object, metadata: own };
}

export function readMark({ metadata }: JsonObject): string | null {
  const mark = isObject(metadata) ? metadata[memberName] : null;
  return typeof mark === 'string' ? mark : null;
}
