/** Decides how stored definitions change when a server shows its own, and when somebody approves or declares them. */
import type { Definition } from './definition.ts';
import { changeText, definitionChanges } from './definition-changes.ts';
import type { DefinitionFinding } from './definition-finding.ts';
import { definitionState } from './definition-state.ts';
import { type DefinitionWarning, definitionWarnings } from './definition-warnings.ts';
import type { McpCapabilityType } from './mcp-integration.ts';
import { visibleText } from './visible-text.ts';

/** One definition of an integration: what was approved, and what its server showed last. */
export interface PinnedDefinition {
  readonly type: McpCapabilityType;
  readonly name: string;
  /** Null before it is approved. */
  readonly approved_digest: string | null;
  /** Canonical JSON; null when only the digest is known. */
  readonly approved: string | null;
  readonly approved_at: number | null;
  /** Null when the server no longer offers it, or never has. */
  readonly seen_digest: string | null;
  /** Canonical JSON; null for one that is too long to store. */
  readonly seen: string | null;
  readonly seen_at: number | null;
  /** JSON of the warnings about the newest definition; null for none. */
  readonly warnings: string | null;
}

/** Definitions of one integration that are stored. */
export const definitionsMax = 10_000;
const textBytesMax = 64 * 1024;
const nothing = {
  approved_digest: null,
  approved: null,
  approved_at: null,
  seen_digest: null,
  seen: null,
  seen_at: null,
  warnings: null,
};

export interface SeenTerms {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Whether the definitions are all that the server offers, so that others are gone. */
  readonly isComplete: boolean;
  /** Whether these are the first ones, which are approved as they are. */
  readonly isFirst: boolean;
  /** Definitions that may be added; by default as many as are stored at most. */
  readonly room?: number;
}

/**
 * Returns the rows that change. Older sights change nothing. A new resource is approved as it is,
 * because resources come and go as data does.
 */
export function withSeen(
  current: readonly PinnedDefinition[],
  definitions: readonly Definition[],
  { at, isComplete, isFirst, room: roomGiven }: SeenTerms,
): PinnedDefinition[] {
  const byIdentity = new Map(current.map((row) => [identityOf(row), row]));
  const offered = new Map(definitions.map((one) => [identityOf(one), one]));
  let room = roomGiven ?? definitionsMax - current.length;
  const seen = offered.values().flatMap((one): PinnedDefinition[] => {
    const { type, name, digest } = one;
    const row = byIdentity.get(identityOf(one));
    if (row === undefined && room <= 0) return [];
    if (row === undefined) room -= 1;
    const before = row ?? { type, name, ...nothing };
    const isApproved = before.approved_digest === null && (isFirst || type === 'resource');
    const isNewer = (before.seen_at ?? 0) <= at && before.seen_digest !== digest;
    if (!isApproved && !isNewer) return [];
    const after = isNewer ? sight(before, one, at) : before;
    return [isApproved ? approval(after, at) : after];
  });
  const gone = isComplete
    ? current.filter(
        (row) =>
          row.seen_digest !== null && (row.seen_at ?? 0) <= at && !offered.has(identityOf(row)),
      )
    : [];
  return [
    ...seen,
    ...gone.map((row) => ({ ...row, seen_digest: null, seen: null, seen_at: at, warnings: null })),
  ];
}

function sight(row: PinnedDefinition, { text, digest }: Definition, at: number): PinnedDefinition {
  const warnings = definitionWarnings(text);
  return {
    ...row,
    seen_digest: digest,
    seen: Buffer.byteLength(text) > textBytesMax ? null : text,
    seen_at: at,
    warnings: warnings.length === 0 ? null : JSON.stringify(warnings),
  };
}

function approval(row: PinnedDefinition, at: number): PinnedDefinition {
  return { ...row, approved_digest: row.seen_digest, approved: row.seen, approved_at: at };
}

/** Identifies a definition and the digest that is approved for it. */
export interface ApprovedDefinition {
  readonly type: McpCapabilityType;
  readonly name: string;
  /** Null approves that it is gone. */
  readonly digest: string | null;
}

/** Returns the rows that change, or the first entry whose digest is not that of the newest definition. */
export function withApproved(
  current: readonly PinnedDefinition[],
  approved: readonly ApprovedDefinition[],
  at: number,
): { readonly rows: PinnedDefinition[] } | { readonly stale: ApprovedDefinition } {
  const byIdentity = new Map(current.map((row) => [identityOf(row), row]));
  const rows: PinnedDefinition[] = [];
  for (const one of approved) {
    const row = byIdentity.get(identityOf(one));
    if (row === undefined || row.seen_digest !== one.digest) return { stale: one };
    if (row.approved_digest !== row.seen_digest) rows.push(approval(row, at));
  }
  return { rows };
}

/** Returns the rows that change so that exactly the declared definitions are approved, beside resources. */
export function withDeclared(
  current: readonly PinnedDefinition[],
  declared: readonly (Omit<ApprovedDefinition, 'digest'> & { readonly digest: string })[],
  at: number,
): PinnedDefinition[] {
  const left = new Map(declared.map((one) => [identityOf(one), one]));
  const known = current
    .filter(({ type }) => type !== 'resource')
    .flatMap((row) => {
      const digest = left.get(identityOf(row))?.digest ?? null;
      left.delete(identityOf(row));
      return digest === row.approved_digest ? [] : [declaration(row, digest, at)];
    });
  const others = left
    .values()
    .map(({ type, name, digest }) => declaration({ type, name, ...nothing }, digest, at));
  return [...known, ...others];
}

function declaration(row: PinnedDefinition, digest: string | null, at: number): PinnedDefinition {
  const approved = digest !== null && digest === row.seen_digest ? row.seen : null;
  const approvedAt = digest === null ? null : at;
  return { ...row, approved_digest: digest, approved, approved_at: approvedAt };
}

const nameCharsMax = 255;

export function findingOf(row: PinnedDefinition): DefinitionFinding {
  const { type, name, approved_digest, seen_digest } = row;
  const state = definitionState(row);
  return {
    type,
    name: visibleText(name, nameCharsMax),
    state,
    approved_digest,
    seen_digest,
    changes: state === 'drifted' ? changesOf(row) : [],
    warnings: readWarnings(row).map(
      ({ code, field, excerpt }) => `${code} in ${field}: ${excerpt}`,
    ),
  };
}

function changesOf({ approved, seen }: PinnedDefinition): string[] {
  if (approved === null) return ['the approved definition is known by its digest only'];
  if (seen === null) return ['the new definition is too long to compare'];
  return definitionChanges(approved, seen).map(changeText);
}

export function readWarnings({ warnings }: Pick<PinnedDefinition, 'warnings'>) {
  return warnings === null ? [] : (JSON.parse(warnings) as DefinitionWarning[]);
}

const factsMax = 20;

/** The rows as facts of an audit entry; undefined when nothing changed. */
export function definitionFacts(
  rows: readonly PinnedDefinition[],
): Record<string, unknown> | undefined {
  if (rows.length === 0) return undefined;
  const states = Object.groupBy(rows, definitionState);
  return {
    ...Object.fromEntries(Object.entries(states).map(([state, some]) => [state, some.length])),
    changed: rows
      .filter((row) => definitionState(row) !== 'trusted' || row.warnings !== null)
      .slice(0, factsMax)
      .map(findingOf),
  };
}

function identityOf({ type, name }: { readonly type: string; readonly name: string }): string {
  return `${type} ${name}`;
}
