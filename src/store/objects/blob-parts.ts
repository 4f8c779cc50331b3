/** Knows the blob_parts table: bytes that are kept in the database, in pieces. */
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';

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

export const insert = insertion((db, row: BlobPartRow & Record<string, unknown>) =>
  db.insertInto('blob_parts').values(row),
);

type Asked = { organisationId: string; id: string; number: number };

const byNumber = statement((db, { organisationId, id, number }: Asked) =>
  db
    .selectFrom('blob_parts')
    .select('content')
    .where('organisation_id', '=', organisationId)
    .where('blob_id', '=', id)
    .where('number', '=', number),
);

/** Undefined where there is none. */
export async function read(db: Db, asked: Asked): Promise<Buffer | undefined> {
  return (await byNumber.first(db, asked))?.content;
}

/** Deletes up to `limit`, the first ones first; yields how many. */
export async function deleteSome(
  db: Db,
  { organisationId, id }: Omit<Asked, 'number'>,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('blob_parts')
    .where('organisation_id', '=', organisationId)
    .where('blob_id', '=', id)
    .orderBy('number')
    .limit(limit)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
