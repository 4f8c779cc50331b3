/** Writes and reads saved plans: a plan as one JSON text, sealed against changes. */
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import { fingerprintOf } from '../../model/manifests/fingerprint.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import type { Impacts } from '../plan/impact.ts';
import type { Plan } from '../plan/plan-model.ts';
import { planDocument } from '../report/document.ts';
import type { SnapshotRead } from '../server/live.ts';
import { changedSince, planMarks } from './plan-marks.ts';

/** Version of the part that apply reads; the rest equals `plan -o json`. */
const formatVersion = 1;

/** The inputs of a plan and what was released with it. */
const Terms = z.strictObject({
  /** Locations of the manifests, as given. */
  paths: z.array(z.string()).min(1),
  /** The selected environment. */
  environment: z.string().nullable(),
  /** Empty means all. */
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
  /** Seal over the whole text without this field. */
  seal: hex,
});

const Document = z.looseObject({
  owner: z.string(),
  source: z.object({ repo: z.string(), sha: z.string().nullable(), digest: z.string() }),
  saved: Saved,
});

export interface SavedPlan extends z.infer<typeof Document> {
  /** The text under the seal. */
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
 * Serialises the plan on one line. It contains fingerprints of secrets, never their values.
 *
 * @throws Failure (invalid input) for credentials that do not receive the sealing key
 */
export function savedPlanText(plan: Plan, read: SnapshotRead, options: SaveOptions): string {
  const { now, validMs, server, terms, warnings, impacts } = options;
  const key = keyOf(read);
  if (key === null) {
    const message = `saving a plan needs credentials that may apply it: these may not write the headers of \
integrations, so they do not receive the key that seals plans.\nOmit --out, or name others \
with --credentials FILE.`;
    throw new Failure('invalidInput', message);
  }
  const saved = {
    formatVersion,
    madeAt: formatTimestamp(now),
    expiresAt: formatTimestamp(now + validMs),
    server,
    organisationId: read.snapshot.organisation_id,
    terms,
    marks: planMarks(plan, key),
  };
  const document = { ...planDocument(plan, warnings, impacts), saved };
  const seal = sealOf(JSON.stringify(document), key);
  return `${JSON.stringify({ ...document, saved: { ...saved, seal } })}\n`;
}

/** Returns whether a text starts like the JSON of a plan, saved or not. */
export function looksLikePlan(beginning: string): boolean {
  return /^\s*\{\s*"formatVersion"\s*:\s*\d+\s*,\s*"engine"\s*:\s*"gatewright"/.test(beginning);
}

/**
 * Parses a saved plan as far as possible without the server.
 *
 * @param name file name, for messages
 * @throws Failure (invalid input) when it is not a saved plan, or of a newer format
 */
export function parseSavedPlan(text: string, name: string): SavedPlan {
  const refuse = (reason: string): Failure =>
    new Failure(
      'invalidInput',
      `${name} ${reason}.\nNothing was written; create it again with plan --out.`,
    );
  const raw = jsonOf(text);
  if (raw === undefined) throw refuse('is not a complete plan: it is cut off or damaged');
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
  if (!parsed.success) throw refuse('is not a valid saved plan: it is damaged');
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
  /** File name, for messages. */
  readonly name: string;
  /** Formats the command that creates the plan again. */
  readonly planAgain: () => string;
}

/**
 * @throws Failure (invalid input) for a plan of another owner or server, (stale) for an expired one
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
To plan again: ${planAgain()}`,
  );
}

/**
 * Checks the seal before anything in the text is used.
 *
 * @throws Failure (invalid input) when the text was changed or belongs to another organisation
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
 * @throws Failure (stale) that lists the changes since, when the plan made now differs from the
 *   saved one
 */
export function assertUnchanged(
  { saved }: SavedPlan,
  { plan, read }: { readonly plan: Plan; readonly read: SnapshotRead },
  { name, planAgain }: Pick<Circumstances, 'name' | 'planAgain'>,
): void {
  const key = keyOf(read);
  const changed =
    key === null
      ? ['these credentials lost the permission to write headers of integrations']
      : changedSince(saved.marks, planMarks(plan, key), plan);
  if (changed.length > 0) throw staleFailure(name, changed, planAgain());
}

const listedMax = 20;

/** @param changed a sentence for each cause */
export function staleFailure(name: string, changed: readonly string[], planAgain: string): Failure {
  const hidden = changed.length - listedMax;
  const lines = changed.slice(0, listedMax).map((line) => `  ${line}`);
  const more = hidden > 0 ? [`  … and ${hidden} more`] : [];
  const what = [...lines, ...more].join('\n');
  const message = `${name} is stale, nothing was written. Since it was made\n${what}\nTo plan again: ${planAgain}`;
  return new Failure('stale', message);
}

function keyOf({ snapshot }: SnapshotRead): Buffer | null {
  return snapshot.fingerprint_key === null ? null : Buffer.from(snapshot.fingerprint_key, 'base64');
}

/** The first line separates seals from fingerprints of values. */
function sealOf(text: string, key: Buffer): string {
  return fingerprintOf(key, `saved plan\n${text}`);
}
