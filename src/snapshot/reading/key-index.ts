/** Finds the values of API keys by digest over all organisations. */
import type { SnapshotRow } from '../../store/reads/snapshot-tables.ts';
import type { DecodedSection } from '../format/row-sections.ts';

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
