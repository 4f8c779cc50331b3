/** Knows the file_parts table: what is in the files that the gateway keeps. */
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';

interface FilePartRow {
  organisation_id: string;
  file_id: string;
  /** From 0. */
  number: number;
  content: Buffer;
}

declare module '../connection/db.ts' {
  interface Tables {
    file_parts: FilePartRow;
  }
}

/** A statement with twice as much in it is one that every server takes as it comes out of the box. */
const partBytesMax = 1024 * 1024;

const insertPart = insertion((db, row: FilePartRow & Record<string, unknown>) =>
  db.insertInto('file_parts').values(row),
);

export async function insert(
  tx: Db,
  organisationId: string,
  fileId: string,
  content: Buffer,
): Promise<void> {
  for (let number = 0; number * partBytesMax < content.length; number += 1) {
    const from = number * partBytesMax;
    const part = content.subarray(from, from + partBytesMax);
    const place = { organisation_id: organisationId, file_id: fileId, number };
    await insertPart(tx, { ...place, content: part });
  }
}

type Asked = { organisationId: string; fileId: string; number: number };

const byNumber = statement((db, { organisationId, fileId, number }: Asked) =>
  db
    .selectFrom('file_parts')
    .select('content')
    .where('organisation_id', '=', organisationId)
    .where('file_id', '=', fileId)
    .where('number', '=', number),
);

/** All of it; null where some is gone, as the file was deleted. */
export async function read(
  db: Db,
  organisationId: string,
  fileId: string,
  bytes: number,
): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  for (let number = 0; number * partBytesMax < bytes; number += 1) {
    const part = await byNumber.first(db, { organisationId, fileId, number });
    if (part === undefined) return null;
    parts.push(part.content);
  }
  return Buffer.concat(parts);
}
