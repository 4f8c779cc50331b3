/** Seals and opens the documents that tie a snapshot together: the manifest of an organisation, pages and the head. */
import type { DataKeyRow } from '../../store/resources/data-keys.ts';
import type { MarkChange } from '../../store/snapshot/changes.ts';
import { openObject, readOpenPart, sealObject } from './sealed-object.ts';
import type { SnapshotKeys } from './snapshot-keys.ts';
import { SnapshotRefused } from './snapshot-refused.ts';

/** One object with rows, as its manifest names it. */
export interface ManifestPart {
  /** In base64url. */
  readonly etag: string;
  /** A table; `*` for an object with the rows of several small tables. */
  readonly table: string;
  readonly number: number;
  readonly count: number;
  /** Generation and time of the read in which it was sealed. */
  readonly generation: string;
  readonly sealedAtMs: number;
  /** Recognises an unchanged part. */
  readonly digest: string;
}

/** The parts of an organisation; sealed under the key of the deployment. */
export interface SnapshotManifest {
  readonly organisationId: string;
  readonly generation: string;
  readonly peopleGeneration: string;
  readonly readAtMs: number;
  /** When each mark was last replaced; absent in snapshots of older versions. */
  readonly changes?: readonly MarkChange[];
  readonly parts: readonly ManifestPart[];
  /** For each table with rows, its number of rows, and by part number the position in `parts`. */
  readonly tables: Readonly<Record<string, ManifestTable>>;
}

export interface ManifestTable {
  readonly rows: number;
  readonly parts: readonly number[];
}

/** An organisation in a page. */
export interface PageEntry {
  readonly organisationId: string;
  readonly tsgId: string;
  readonly isDeleted: boolean;
  /** Etag of the manifest, in base64url. */
  readonly etag: string;
  readonly generation: string;
  readonly readAtMs: number;
  /** The wrapped data key and the id of the master key that wraps it. */
  readonly wrappedKey: string;
  readonly masterKeyId: string;
}

/** One page of the list of organisations. */
export interface SnapshotPage {
  readonly number: number;
  readonly entries: readonly PageEntry[];
}

interface PageAddress {
  /** In base64url; null for a page without organisations. */
  readonly etag: string;
  readonly sealedAtMs: number;
}

/** The root of a snapshot. */
export interface SnapshotHead {
  readonly deploymentId: string;
  readonly deploymentKey: DataKeyRow;
  readonly sequence: number;
  readonly builtAtMs: number;
  /** Most gateways that share the limits of an organisation; absent in heads of earlier versions. */
  readonly gateways?: number;
  /** Whether every change that was committed by then is contained. */
  readonly isSettled: boolean;
  /** A power of two; null for a page without organisations. */
  readonly pages: readonly (PageAddress | null)[];
}

const text = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const parse = <T>(bytes: Buffer): T => JSON.parse(bytes.toString('utf8')) as T;

export function placeOfPart(
  keys: Pick<SnapshotKeys, 'deploymentId'>,
  organisationId: string,
  part: Omit<ManifestPart, 'etag' | 'digest'>,
): string {
  const { table, number, count, generation, sealedAtMs } = part;
  return placeOf(keys, organisationId, table, `${number}/${count}`, generation, sealedAtMs);
}

function placeOf(keys: Pick<SnapshotKeys, 'deploymentId'>, ...names: (string | number)[]): string {
  return [keys.deploymentId, ...names].join('|');
}

type ManifestAddress = Pick<PageEntry, 'organisationId' | 'generation' | 'readAtMs'>;

const manifestPlace = (keys: SnapshotKeys, at: ManifestAddress) => ({
  kind: 'manifest' as const,
  place: placeOf(keys, at.organisationId, 'manifest', at.generation, at.readAtMs),
});

export function sealManifest(keys: SnapshotKeys, manifest: SnapshotManifest): Buffer {
  return sealObject(keys.deploymentKey, manifestPlace(keys, manifest), text(manifest));
}

/** @throws SnapshotRefused */
export function openManifest(
  keys: SnapshotKeys,
  at: ManifestAddress,
  sealed: Buffer,
): SnapshotManifest {
  const name = `the manifest of organisation ${at.organisationId}`;
  return parse(openObject(keys.deploymentKey, manifestPlace(keys, at), sealed, name));
}

const pagePlace = (keys: SnapshotKeys, number: number, { sealedAtMs }: { sealedAtMs: number }) => ({
  kind: 'page' as const,
  place: placeOf(keys, '', 'page', number, sealedAtMs),
});

export function sealPage(keys: SnapshotKeys, page: SnapshotPage, sealedAtMs: number): Buffer {
  return sealObject(keys.deploymentKey, pagePlace(keys, page.number, { sealedAtMs }), text(page));
}

/** @throws SnapshotRefused */
export function openPage(
  keys: SnapshotKeys,
  number: number,
  address: PageAddress,
  sealed: Buffer,
): SnapshotPage {
  const name = `page ${number}`;
  return parse(openObject(keys.deploymentKey, pagePlace(keys, number, address), sealed, name));
}

const headName = 'its head';

export function sealHead(keys: SnapshotKeys, head: Omit<SnapshotHead, 'deploymentId'>): Buffer {
  const { deploymentKey, ...body } = head;
  const open = text({ deploymentId: keys.deploymentId, deploymentKey });
  const place = { kind: 'head' as const, place: placeOf(keys, '', 'head'), open };
  return sealObject(keys.deploymentKey, place, text(body));
}

/** Which deployment a head says that it belongs to, with its wrapped key; proves nothing yet. @throws SnapshotRefused */
export function readDeployment(
  sealed: Buffer,
): Pick<SnapshotHead, 'deploymentId' | 'deploymentKey'> {
  const open = readOpenPart(sealed, 'head', headName);
  try {
    const { deploymentId, deploymentKey } = parse<SnapshotHead>(open);
    const { organisation_id, master_key_id, wrapped_key } = deploymentKey;
    return { deploymentId, deploymentKey: { organisation_id, master_key_id, wrapped_key } };
  } catch (cause) {
    throw new SnapshotRefused('altered', `${headName} was altered`, { cause });
  }
}

/** @throws SnapshotRefused, also for a head of another deployment */
export function openHead(keys: SnapshotKeys, sealed: Buffer): SnapshotHead {
  const { deploymentId, deploymentKey } = readDeployment(sealed);
  if (deploymentId !== keys.deploymentId) {
    throw new SnapshotRefused(
      'foreign',
      `it belongs to deployment ${deploymentId}, and this gateway to ${keys.deploymentId}`,
    );
  }
  const place = { kind: 'head' as const, place: placeOf(keys, '', 'head') };
  const body = parse<Omit<SnapshotHead, 'deploymentId' | 'deploymentKey'>>(
    openObject(keys.deploymentKey, place, sealed, headName),
  );
  return { ...body, deploymentId, deploymentKey };
}
