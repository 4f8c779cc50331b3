/** Fetches what differs between the held snapshot and a new head, and verifies all of it. */
import { etagOf } from '../format/sealed-object.ts';
import {
  type ManifestPart,
  openHead,
  openManifest,
  openPage,
  type PageEntry,
  type SnapshotHead,
  type SnapshotPage,
} from '../format/snapshot-documents.ts';
import type { SnapshotKeys } from '../format/snapshot-keys.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';
import { type DecodedParts, nameOfPart } from './decoded-parts.ts';
import type { LiveSnapshot, SnapshotUpdate } from './live-snapshot.ts';
import { OrganisationContents } from './organisation-contents.ts';

/** Address of an object: its organisation, '' for the deployment, and its etag in base64url. */
export interface ObjectAddress {
  readonly organisationId: string;
  readonly etag: string;
}

/** Returns the objects that exist, by etag. */
export type FetchObjects = (
  addresses: readonly ObjectAddress[],
) => Promise<ReadonlyMap<string, Buffer>>;

/** The part of the held snapshot that shows what a new one adds. */
export type KnownSnapshot = Pick<
  LiveSnapshot,
  'head' | 'isWhole' | 'page' | 'pageNumbers' | 'contents' | 'document' | 'organisationIds'
>;

export interface UpdateOptions {
  readonly keys: SnapshotKeys;
  /** Null when nothing is held. */
  readonly held: KnownSnapshot | null;
  readonly decoded: DecodedParts;
  readonly fetch: FetchObjects;
  /** Leaves organisations out whose objects are damaged, in place of refusing the whole snapshot. */
  readonly onDamage: ((refused: SnapshotRefused, organisationId: string) => void) | null;
}

/** @throws SnapshotRefused */
export async function readUpdate(
  sealedHead: Buffer,
  options: UpdateOptions,
): Promise<SnapshotUpdate> {
  const { keys, held, decoded } = options;
  const head = openHead(keys, sealedHead);
  const documents = new Map<string, Buffer>();
  const pages = await readPages(head, options, documents);
  const entries = [...pages.values(), ...damagedPages(held, pages)].flatMap((page) => page.entries);
  const changed = entries.filter((entry) => {
    const before = held?.contents(entry.organisationId)?.entry;
    return before?.etag !== entry.etag || before.wrappedKey !== entry.wrappedKey;
  });
  const { found, damaged } = await readOrganisations(changed, options, documents);
  return {
    head,
    sealedHead,
    pages,
    documents,
    changed: found.map((one) => new OrganisationContents({ keys, decoded, ...one })),
    removed: removedBy(head, pages, held),
    damaged,
  };
}

async function readPages(
  head: SnapshotHead,
  { keys, held, fetch }: UpdateOptions,
  documents: Map<string, Buffer>,
): Promise<Map<number, SnapshotPage>> {
  const isSameNumber = held?.head.pages.length === head.pages.length;
  const wanted = head.pages.flatMap((address, number) => {
    const before = isSameNumber ? held.head.pages[number] : undefined;
    return address === null || before?.etag === address.etag ? [] : [{ address, number }];
  });
  const sealed = await fetchVerified(
    fetch,
    wanted.map(({ address }) => ({ organisationId: '', etag: address.etag })),
    (at) => `page ${wanted[at]!.number}`,
    null,
  );
  const pages = new Map<number, SnapshotPage>();
  for (const { address, number } of wanted) {
    const bytes = sealed.get(address.etag)!;
    documents.set(address.etag, bytes);
    pages.set(number, openPage(keys, number, address, bytes));
  }
  // A page without organisations has no object.
  head.pages.forEach((address, number) => {
    if (address === null && held?.page(number) !== undefined) {
      pages.set(number, { number, entries: [] });
    }
  });
  return pages;
}

interface ReadOrganisation {
  readonly entry: PageEntry;
  readonly manifest: ReturnType<typeof openManifest>;
  readonly sealed: readonly Buffer[];
}

async function readOrganisations(
  entries: readonly PageEntry[],
  { keys, held, fetch, onDamage }: UpdateOptions,
  documents: Map<string, Buffer>,
): Promise<{ found: ReadOrganisation[]; damaged: string[] }> {
  const damaged = new Set<string>();
  const refuse =
    onDamage &&
    ((refused: SnapshotRefused, organisationId: string) => {
      if (!damaged.has(organisationId)) onDamage(refused, organisationId);
      damaged.add(organisationId);
    });
  const unknown = entries.filter(({ etag }) => held?.document(etag) === undefined);
  const manifestName = (at: number): string =>
    `the manifest of organisation ${unknown[at]!.organisationId}`;
  const sealed = await fetchVerified(fetch, unknown, manifestName, refuse);
  const opened = entries.flatMap((entry) => {
    const bytes = sealed.get(entry.etag) ?? held?.document(entry.etag);
    if (bytes === undefined) return [];
    documents.set(entry.etag, bytes);
    const before = held?.contents(entry.organisationId);
    const known = new Map(before?.manifest.parts.map(({ etag }, at) => [etag, before.sealed[at]!]));
    return [{ entry, manifest: openManifest(keys, entry, bytes), known }];
  });
  const wanted = opened.flatMap(({ entry: { organisationId }, manifest, known }) =>
    manifest.parts.flatMap((part) =>
      known.has(part.etag) ? [] : [{ organisationId, etag: part.etag, part }],
    ),
  );
  const name = (at: number): string => nameOf(wanted[at]!);
  const parts = await fetchVerified(fetch, wanted, name, refuse);
  const found = opened
    .filter(({ entry }) => !damaged.has(entry.organisationId))
    .map(({ entry, manifest, known }) => ({
      entry,
      manifest,
      sealed: manifest.parts.map(({ etag }) => parts.get(etag) ?? known.get(etag)!),
    }));
  return { found, damaged: [...damaged] };
}

function nameOf({ organisationId, part }: { organisationId: string; part: ManifestPart }): string {
  return nameOfPart(organisationId, part);
}

const fetchedMax = 2_000;

/** @throws SnapshotRefused for a missing or altered object, unless `refuse` is given */
async function fetchVerified(
  fetch: FetchObjects,
  addresses: readonly ObjectAddress[],
  nameAt: (at: number) => string,
  refuse: ((refused: SnapshotRefused, organisationId: string) => void) | null,
): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (let at = 0; at < addresses.length; at += fetchedMax) {
    const some = addresses.slice(at, at + fetchedMax);
    const fetched = await fetch(some);
    for (const [i, { etag, organisationId }] of some.entries()) {
      const refused = faultOf(fetched.get(etag), etag, nameAt(at + i));
      if (refused === null) found.set(etag, fetched.get(etag)!);
      else if (refuse === null) throw refused;
      else refuse(refused, organisationId);
    }
  }
  return found;
}

function faultOf(sealed: Buffer | undefined, etag: string, name: string): SnapshotRefused | null {
  if (sealed === undefined) return new SnapshotRefused('torn', `${name} is missing`);
  if (etagOf(sealed).toString('base64url') === etag) return null;
  const message = `${name} was altered: its digest is not the one in the manifest`;
  return new SnapshotRefused('altered', message);
}

/** Organisations that the changed pages named before and do not name now. */
function removedBy(
  head: SnapshotHead,
  pages: ReadonlyMap<number, SnapshotPage>,
  held: KnownSnapshot | null,
): string[] {
  if (held === null) return [];
  const named = new Set(
    [...pages.values()].flatMap((page) => page.entries.map((one) => one.organisationId)),
  );
  if (head.pages.length !== held.head.pages.length) {
    return [...held.organisationIds()].filter((id) => !named.has(id));
  }
  const before = [...pages.keys()].flatMap((number) => held.page(number)?.entries ?? []);
  return before.map((one) => one.organisationId).filter((id) => !named.has(id));
}

/** Unchanged pages with organisations that were left out before. */
function damagedPages(
  held: KnownSnapshot | null,
  pages: ReadonlyMap<number, SnapshotPage>,
): SnapshotPage[] {
  if (held === null || held.isWhole) return [];
  const unchanged = held.pageNumbers().filter((number) => !pages.has(number));
  return unchanged.map((number) => held.page(number)!);
}
