/** Publishes a new head of the snapshot, and lets go of the objects that it replaces. */
import { monotonicMs } from '../../monotonic.ts';
import type { Db } from '../../store/connection/db.ts';
import * as snapshotHeads from '../../store/snapshot/snapshot-heads.ts';
import * as snapshotParts from '../../store/snapshot/snapshot-parts.ts';
import { etagOf } from '../format/sealed-object.ts';
import {
  type PageEntry,
  type SnapshotHead,
  sealHead,
  sealPage,
} from '../format/snapshot-documents.ts';
import type { BuilderState } from './builder-state.ts';
import type { BuiltOrganisations, EarlierOrganisation } from './read-organisations.ts';

/** Everything that a new head changes. */
export interface HeadChange {
  readonly entries?: readonly PageEntry[];
  /** Organisations that exist no more. */
  readonly gone?: readonly string[];
  /** New objects of organisations. */
  readonly objects?: readonly snapshotParts.StoredPart[];
  /** Database time for which the contents hold. */
  readonly now: number;
  /** Whether every change that was committed by then is contained. */
  readonly isSettled: boolean;
}

/**
 * Replaces the head, by one conditional statement after everything that it names is stored. False, and
 * nothing is published, when another process took over.
 */
export async function publishHead(
  db: Db,
  graceMs: number,
  state: BuilderState,
  { entries = [], gone = [], objects = [], now, isSettled }: HeadChange,
): Promise<boolean> {
  const { keys, lease, deploymentKey } = state;
  const builtAtMs = Math.max(now, (state.head?.builtAtMs ?? 0) + 1);
  const { pages, count } = state.change(entries, gone);
  const sealedPages = pages.map((page) => {
    const body = page.entries.length === 0 ? null : sealPage(keys, page, builtAtMs);
    return { number: page.number, body, etag: body && etagOf(body) };
  });
  const isSameCount = state.head?.pages.length === count;
  const addresses: (SnapshotHead['pages'][number] | null)[] = Array.from(
    { length: count },
    (_, at) => (isSameCount ? state.head!.pages[at]! : null),
  );
  for (const { number, etag } of sealedPages) {
    const text = etag?.toString('base64url');
    addresses[number] = text === undefined ? null : { etag: text, sealedAtMs: builtAtMs };
  }
  const pageObjects = sealedPages.flatMap(({ body, etag }) =>
    body === null || etag === null ? [] : [{ organisationId: '', etag, body }],
  );
  const beganAtMs = monotonicMs();
  await snapshotParts.insertUnconfirmed(db, [...objects, ...pageObjects], graceMs);
  // They could be deleted as garbage before the head names them.
  if (monotonicMs() - beganAtMs > graceMs / 2) throw new Error('publishing took too long');
  const sequence = state.sequence + 1;
  const gateways = await state.countGateways(db, now);
  const head = { deploymentKey, sequence, builtAtMs, gateways, isSettled, pages: addresses };
  const body = sealHead(keys, head);
  const at = { ...lease, sequence: state.sequence };
  if (!(await snapshotHeads.publish(db, at, { etag: etagOf(body), body }))) {
    return false;
  }
  const replaced = pageEtagsOf(state.head).difference(pageEtagsOf({ pages: addresses }));
  state.head = { ...head, deploymentId: keys.deploymentId };
  state.sequence = sequence;
  const etags = pageObjects.map(({ etag }) => etag);
  await snapshotParts.retain(db, '', etags);
  await snapshotParts.discard(db, '', [...replaced].map(fromText), graceMs);
  return true;
}

/** Keeps the published objects and lets go of those that they replace. */
export async function settleObjects(
  db: Db,
  graceMs: number,
  earlier: ReadonlyMap<string, EarlierOrganisation>,
  { built, gone }: Pick<BuiltOrganisations, 'built' | 'gone'>,
): Promise<void> {
  for (const { entry, manifest, sealed } of built) {
    const id = entry.organisationId;
    await snapshotParts.retain(
      db,
      id,
      sealed.map(({ etag }) => etag),
    );
    const named = new Set(manifest.parts.map(({ etag }) => etag)).add(entry.etag);
    const replaced = etagsOf(earlier.get(id)).filter((etag) => !named.has(etag));
    await snapshotParts.discard(db, id, replaced.map(fromText), graceMs);
  }
  for (const id of gone) {
    await snapshotParts.discard(db, id, etagsOf(earlier.get(id)).map(fromText), graceMs);
  }
}

function pageEtagsOf(head: Pick<SnapshotHead, 'pages'> | null): Set<string> {
  return new Set(head?.pages.flatMap((page) => page?.etag ?? []));
}

function etagsOf(earlier: EarlierOrganisation | undefined): string[] {
  if (earlier === undefined) return [];
  return [earlier.entry.etag, ...earlier.manifest.parts.map(({ etag }) => etag)];
}

function fromText(etag: string): Buffer {
  return Buffer.from(etag, 'base64url');
}
