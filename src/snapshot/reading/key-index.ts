/** Finds the values of API keys by digest over all organisations. */
import type { SnapshotRow } from '../../store/reads/snapshot-tables.ts';
import { deploymentTable } from '../format/part-numbers.ts';
import type { DecodedSection } from '../format/row-sections.ts';
import type { ManifestPart } from '../format/snapshot-documents.ts';
import type { SnapshotKeys } from '../format/snapshot-keys.ts';
import { decodePart } from './decoded-parts.ts';
import type { OrganisationContents } from './organisation-contents.ts';

interface KeyValue {
  readonly organisationId: string;
  readonly apiKeyId: string;
  readonly validUntil: number | null;
}

type KeyRow = SnapshotRow<'api_key_hashes'>;

export class KeyIndex {
  readonly #values = new Map<string, KeyValue>();

  get size(): number {
    return this.#values.size;
  }

  find(digest: Buffer): KeyRow | undefined {
    const found = this.#values.get(digest.toString('latin1'));
    return (
      found && {
        hash: digest,
        organisation_id: found.organisationId,
        api_key_id: found.apiKeyId,
        valid_until: found.validUntil,
      }
    );
  }

  add(section: DecodedSection): void {
    for (const row of section.rows() as Iterable<unknown> as Iterable<KeyRow>) {
      this.#values.set(row.hash.toString('latin1'), {
        organisationId: row.organisation_id,
        apiKeyId: row.api_key_id,
        validUntil: row.valid_until,
      });
    }
  }

  /** Removes the values of a replaced part, unless another organisation has them meanwhile. */
  remove(section: DecodedSection): void {
    for (const row of section.rows() as Iterable<unknown> as Iterable<KeyRow>) {
      const digest = row.hash.toString('latin1');
      if (this.#values.get(digest)?.organisationId === row.organisation_id) {
        this.#values.delete(digest);
      }
    }
  }
}

/** Sections of key values that differ between two states of an organisation; undefined for none. */
export function keyChanges(
  keys: SnapshotKeys,
  before: OrganisationContents | undefined,
  after: OrganisationContents | undefined,
): { readonly removed: DecodedSection[]; readonly added: DecodedSection[] } {
  return {
    removed: sectionsMissingIn(keys, before, after),
    added: sectionsMissingIn(keys, after, before),
  };
}

function sectionsMissingIn(
  keys: SnapshotKeys,
  contents: OrganisationContents | undefined,
  other: OrganisationContents | undefined,
): DecodedSection[] {
  if (contents === undefined) return [];
  const shared = new Set(keyParts(other).map(({ etag }) => etag));
  const { id: organisationId, manifest, sealed, dataKey } = contents;
  return keyParts(contents)
    .filter(({ etag }) => !shared.has(etag))
    .flatMap((part) => {
      const source = {
        organisationId,
        dataKey,
        part,
        sealed: sealed[manifest.parts.indexOf(part)]!,
      };
      return decodePart(keys, source).sections;
    });
}

function keyParts(contents: OrganisationContents | undefined): ManifestPart[] {
  return contents?.manifest.parts.filter(({ table }) => table === deploymentTable) ?? [];
}
