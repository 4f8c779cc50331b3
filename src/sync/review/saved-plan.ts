/** Knows the saved plan: a plan as one JSON text that proves who made it, and that nothing was changed in it. */
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import { fingerprintOf } from '../../model/manifests/fingerprint.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import type { Impacts } from '../plan/impact.ts';
import type { Plan } from '../plan/planned.ts';
import { planDocument } from '../report/document.ts';
import type { SnapshotRead } from '../server/live.ts';
import { changedSince, marksOf } from './plan-marks.ts';

/** The part of it that applying reads; the plan beside it is what `plan -o json` writes. */
const formatVersion = 1;

/** What a plan was made of, and what was released with it. */
const Terms = z.strictObject({
  /** Locations of manifests, as they were given. */
  paths: z.array(z.string()).min(1),
  /** The environment of them that counts. */
  environment: z.string().nullable(),
  /** None is all. */
  workspace: z.array(z.string()),
  noPrune: z.boolean(),
  allowDeletes: z.number().nullable(),
  /** Identity keys. */
  delete: z.array(z.string()),
  takeOwnership: z.boolean(),
  evenIfSuspended: z.boolean(),
  acceptHistory: z.boolean(),
});
export type Terms = z.infer<typeof Terms>;

const hex = z.string().regex(/^[0-9a-f]{64}$/);

const ChangeMark = z.strictObject({
  action: z.enum(['create', 'update', 'replace', 'delete', 'adopt', 'retain', 'rotate']),
  version: z.number().nullable(),
  live: hex.nullable(),
  wanted: hex.nullable(),
  secrets: z.record(z.string(), hex),
  targets: hex,
  course: hex,
});

const Saved = z.strictObject({
  formatVersion: z.literal(formatVersion),
  madeAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  server: z.string(),
  organisationId: z.string(),
  terms: Terms,
  marks: z.strictObject({
    changes: z.record(z.string(), ChangeMark),
    blocked: z.record(z.string(), z.string()),
  }),
  /** Of the whole text without it. */
  seal: hex,
});

const Document = z.looseObject({
  owner: z.string(),
  source: z.object({ repo: z.string(), sha: z.string().nullable(), digest: z.string() }),
  saved: Saved,
});

export interface SavedPlan extends z.infer<typeof Document> {
  /** What the seal stands for. */
  readonly sealed: string;
}

export interface SaveOptions {
  readonly server: string;
  readonly terms: Terms;
  readonly warnings: readonly string[];
  readonly impacts: Impacts;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly validMs: number;
}

/**
 * The plan as a text to keep, on one line. No value of a secret is in it, only its fingerprint.
 *
 * @throws Failure (invalid input) with credentials that are not told what a plan is sealed by
 */
export function savedPlanText(plan: Plan, read: SnapshotRead, options: SaveOptions): string {
  const { now, validMs, server, terms, warnings, impacts } = options;
  const key = keyOf(read);
  if (key === null) {
    const message = `a plan is saved by credentials that may apply it: these may not write the headers of \
integrations, and are not told by what secrets and saved plans are proven.\nLeave --out out, or name others \
with --credentials FILE.`;
    throw new Failure('invalidInput', message);
  }
  const saved = {
    formatVersion,
    madeAt: formatTimestamp(now),
    expiresAt: formatTimestamp(now + validMs),
    ...{ server, organisationId: read.snapshot.organisation_id, terms },
    marks: marksOf(plan, key),
  };
  const document = { ...planDocument(plan, warnings, impacts), saved };
  const seal = sealOf(JSON.stringify(document), key);
  return `${JSON.stringify({ ...document, saved: { ...saved, seal } })}\n`;
}

/** Whether a text begins as a plan in JSON, saved or only written out. */
export function looksLikePlan(beginning: string): boolean {
  return /^\s*\{\s*"formatVersion"\s*:\s*\d+\s*,\s*"engine"\s*:\s*"gatewright"/.test(beginning);
}

/**
 * The saved plan in a text, as far as it can be judged without the server.
 *
 * @param name of its file, for messages
 * @throws Failure (invalid input) for what is none, or cannot be read by this version
 */
export function parseSavedPlan(text: string, name: string): SavedPlan {
  const refuse = (reason: string): Failure =>
    new Failure(
      'invalidInput',
      `${name} ${reason}.\nNothing was written; make it anew with plan --out.`,
    );
  const raw = jsonOf(text);
  if (raw === undefined) throw refuse('is no whole plan: it is cut off or damaged');
  const { formatVersion: outer, saved } = raw;
  if (saved === undefined)
    throw refuse('is the JSON form of a plan, which is not saved to be applied');
  const versions = [outer, (saved as { formatVersion?: unknown } | null)?.formatVersion];
  const newer = versions.find((version) => typeof version === 'number' && version > formatVersion);
  if (newer !== undefined) {
    throw refuse(
      `was made by a newer gatewright (format ${newer}; this one reads ${formatVersion})`,
    );
  }
  const parsed = Document.safeParse(raw);
  if (!parsed.success) throw refuse('is no saved plan: it is damaged');
  const { seal: _, ...rest } = saved as Record<string, unknown>;
  return { ...parsed.data, sealed: JSON.stringify({ ...raw, saved: rest }) };
}

function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isMap ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export interface Circumstances {
  readonly owner: string;
  /** Address of the server. */
  readonly server: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Name of the file, for messages. */
  readonly name: string;
  /** Writes the command that plans the same anew. */
  readonly planAgain: () => string;
}

/**
 * @throws Failure (invalid input) for a plan of another owner or server, (stale) for one that is too old
 */
export function assertApplicable(
  { owner, saved }: SavedPlan,
  { now, name, planAgain, ...here }: Circumstances,
): void {
  const refuse = (reason: string): Failure =>
    new Failure('invalidInput', `${name} ${reason}.\nNothing was written.`);
  if (owner !== here.owner) {
    throw refuse(
      `is a plan of owner "${owner}", and this is "${here.owner}": give --owner ${owner}`,
    );
  }
  if (saved.server !== here.server) {
    throw refuse(
      `is a plan for the server ${saved.server}, and the credentials lead to ${here.server}`,
    );
  }
  if (now < Date.parse(saved.expiresAt)) return;
  throw new Failure(
    'stale',
    `${name} was made at ${saved.madeAt} and was to be applied until ${saved.expiresAt}; nothing was written.
To plan anew: ${planAgain()}`,
  );
}

/**
 * Whether the text is one that this server's credentials have sealed, before anything of it is followed.
 *
 * @throws Failure (invalid input) for a text that was changed or is of another organisation
 */
export function assertGenuine(
  { saved, sealed }: SavedPlan,
  read: SnapshotRead,
  name: string,
): void {
  const refuse = (reason: string): Failure =>
    new Failure('invalidInput', `${name} ${reason}.\nNothing was written.`);
  const { organisation_id: organisationId } = read.snapshot;
  if (saved.organisationId !== organisationId) {
    throw refuse(
      `is a plan for organisation ${saved.organisationId}, and this is ${organisationId}`,
    );
  }
  const key = keyOf(read);
  if (key === null) {
    throw refuse(
      'cannot be proven with these credentials, which may not write all that a plan may hold',
    );
  }
  if (!timingSafeEqual(Buffer.from(saved.seal, 'hex'), Buffer.from(sealOf(sealed, key), 'hex'))) {
    throw refuse('was changed after it was made, or was made for another server');
  }
}

/**
 * @throws Failure (stale) with what has changed since, where the plan that is made now is not the saved one
 */
export function assertUnchanged(
  { saved }: SavedPlan,
  { plan, read }: { readonly plan: Plan; readonly read: SnapshotRead },
  { name, planAgain }: Pick<Circumstances, 'name' | 'planAgain'>,
): void {
  const key = keyOf(read);
  const changed =
    key === null
      ? ['these credentials were taken the right to write headers of integrations']
      : changedSince(saved.marks, marksOf(plan, key), plan);
  if (changed.length > 0) throw staleFailure(name, changed, planAgain());
}

const shownMax = 20;

/** @param changed a sentence for each cause */
export function staleFailure(name: string, changed: readonly string[], planAgain: string): Failure {
  const hidden = changed.length - shownMax;
  const lines = changed.slice(0, shownMax).map((line) => `  ${line}`);
  const more = hidden > 0 ? [`  … and ${hidden} more`] : [];
  const what = [...lines, ...more].join('\n');
  const message = `${name} is stale, nothing was written. Since it was made\n${what}\nTo plan anew: ${planAgain}`;
  return new Failure('stale', message);
}

function keyOf({ snapshot }: SnapshotRead): Buffer | null {
  return snapshot.fingerprint_key === null ? null : Buffer.from(snapshot.fingerprint_key, 'base64');
}

/** The first line keeps it apart from the fingerprints of values. */
function sealOf(text: string, key: Buffer): string {
  return fingerprintOf(key, `saved plan\n${text}`);
}
