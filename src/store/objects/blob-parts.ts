/** Table functions for blob_parts: the parts of blobs that are stored in the database. */
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

interface BlobPartRow {
  organisation_id: string;
  blob_id: string;
  /** From 0. */
  number: number;
  content: Buffer;
}

declare module '../connection/db.ts' {
  interface Tables {
    blob_parts: BlobPartRow;
  }
}

interface BlobPartKey {
  readonly organisationId: string;
  readonly id: string;
  readonly number: number;
}

const table = rows('blob_parts');

export const { insert } = table;

/** Returns undefined when the part does not exist. */
export async function read(
  db: Db,
  { organisationId, id, number }: BlobPartKey,
): Promise<Buffer | undefined> {
  const where = { organisation_id: organisationId, blob_id: id, number };
  return (await table.find(db, where))?.content;
}

/** Deletes up to `limit` parts in their order and returns the number deleted. */
export function deleteSome(
  db: Db,
  { organisationId, id }: Omit<BlobPartKey, 'number'>,
  limit: number,
): Promise<number> {
  const where = { organisation_id: organisationId, blob_id: id };
  return table.delete(db, where, { orderBy: ['number'], limit });
}
