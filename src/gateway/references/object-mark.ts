/** Knows the mark by which an object is found at its provider when the answer to its creation is lost: how it is put in, and that nobody sees it. */
import { createHash, randomBytes } from 'node:crypto';
import { locateMembers, withMembers } from '../../model/json/json-object.ts';
import type { ObjectKind } from '../../objects/object-request.ts';
import type { Owner } from '../../objects/owner.ts';

/** Among the metadata of an object. */
const memberName = 'gatewright_mark';
/** As many as providers take. */
const membersMax = 16;

/** Those with metadata of which providers have lists. */
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
 * One that nobody guesses. A request that is sent again under its key of idempotency says the same again,
 * or the provider would take it for another.
 */
export function newMark(
  owner: Owner,
  kind: ObjectKind,
  idempotencyKey: string | undefined,
): string {
  if (idempotencyKey === undefined) return randomBytes(16).toString('hex');
  const { organisationId, workspaceId } = owner;
  const told = JSON.stringify([organisationId, workspaceId, kind, idempotencyKey]);
  return createHash('sha256').update(told).digest('hex').slice(0, 32);
}

/** Every other byte stays as it is; all of them where there is no place for a mark. */
export function markedBody(body: Buffer, mark: string): Buffer {
  const members = locateMembers(body);
  if (members === null) return body;
  const changes = new Map([[memberName, mark]]);
  const metadata = members.get('metadata');
  const said = metadata && body.subarray(metadata.valueStart, metadata.end);
  if (said === undefined || said.equals(nullBytes)) {
    const own = Object.fromEntries(changes);
    return withMembers(body, members, new Map([['metadata', own]]));
  }
  const pairs = said[0] === openBrace ? locateMembers(said) : null;
  if (pairs === null || (pairs.size >= membersMax && !pairs.has(memberName))) return body;
  const marked = withMembers(said, pairs, changes);
  return Buffer.concat([
    body.subarray(0, metadata!.valueStart),
    marked,
    body.subarray(metadata!.end),
  ]);
}

const nullBytes = Buffer.from('null');
const openBrace = 0x7b;

/** What is told of an object, as its caller made it. */
export function unmarkedBody(body: Buffer): Buffer {
  if (!body.includes(memberName) || !isObject(parsed(body))) return body;
  const metadata = locateMembers(body)?.get('metadata');
  const said = metadata && body.subarray(metadata.valueStart, metadata.end);
  const pairs = said?.[0] === openBrace ? locateMembers(said) : null;
  if (pairs?.has(memberName) !== true) return body;
  const own = withMembers(said!, pairs, new Map([[memberName, undefined]]));
  return Buffer.concat([body.subarray(0, metadata!.valueStart), own, body.subarray(metadata!.end)]);
}

type JsonObject = Readonly<Record<string, unknown>>;

export function unmarked<T extends JsonObject>(told: T): T {
  const { metadata } = told;
  if (!isObject(metadata) || !Object.hasOwn(metadata, memberName)) return told;
  const { [memberName]: _, ...own } = metadata;
  return { ...told, metadata: own };
}

export function markOf({ metadata }: JsonObject): string | null {
  const mark = isObject(metadata) ? metadata[memberName] : null;
  return typeof mark === 'string' ? mark : null;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
