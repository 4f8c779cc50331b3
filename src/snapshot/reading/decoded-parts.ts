/** Opens sealed parts on first use and keeps the ones that were used last. */
import type { DataKeyRow } from '../../store/resources/data-keys.ts';
import { deploymentTable } from '../format/part-numbers.ts';
import { type DecodedSection, decodeSections } from '../format/row-sections.ts';
import { openObject } from '../format/sealed-object.ts';
import { type ManifestPart, placeOfPart } from '../format/snapshot-documents.ts';
import type { SnapshotKeys } from '../format/snapshot-keys.ts';
import { SnapshotRefused } from '../format/snapshot-refused.ts';

export interface PartSource {
  readonly organisationId: string;
  readonly dataKey: DataKeyRow | null;
  readonly part: ManifestPart;
  readonly sealed: Buffer;
}

export class DecodedParts {
  readonly #bytesMax: number;
  readonly #decoded = new Map<string, { sections: DecodedSection[]; bytes: number }>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @throws SnapshotRefused */
  sections(keys: SnapshotKeys, source: PartSource): readonly DecodedSection[] {
    const { etag } = source.part;
    const found = this.#decoded.get(etag);
    if (found !== undefined) {
      this.#decoded.delete(etag);
      this.#decoded.set(etag, found);
      return found.sections;
    }
    const { sections, bytes } = decodePart(keys, source);
    this.#decoded.set(etag, { sections, bytes });
    this.#bytes += bytes;
    this.#evict();
    return sections;
  }

  #evict(): void {
    for (const [etag, { bytes }] of this.#decoded) {
      if (this.#bytes <= this.#bytesMax || this.#decoded.size === 1) return;
      this.#decoded.delete(etag);
      this.#bytes -= bytes;
    }
  }
}

/** @throws SnapshotRefused */
export function decodePart(
  keys: SnapshotKeys,
  { organisationId, dataKey, part, sealed }: PartSource,
): { readonly sections: DecodedSection[]; readonly bytes: number } {
  const name = nameOfPart(organisationId, part);
  const key =
    part.table === deploymentTable
      ? keys.deploymentKey
      : keys.organisationKey(requireKey(dataKey, name));
  const place = placeOfPart(keys, organisationId, part);
  const plain = openObject(key, { kind: 'rows', place }, sealed, name);
  try {
    return { sections: decodeSections(plain), bytes: plain.length };
  } catch (cause) {
    throw new SnapshotRefused('altered', `${name} has an unknown form`, { cause });
  }
}

export function nameOfPart(
  organisationId: string,
  { table, number, count }: Pick<ManifestPart, 'table' | 'number' | 'count'>,
): string {
  const what = table === '*' ? 'the small tables' : `part ${number + 1} of ${count} of ${table}`;
  return `${what} of organisation ${organisationId}`;
}

function requireKey(dataKey: DataKeyRow | null, name: string): DataKeyRow {
  if (dataKey !== null) return dataKey;
  throw new SnapshotRefused('altered', `${name} has no data key`);
}
