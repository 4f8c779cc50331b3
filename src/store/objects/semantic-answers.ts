/** Table functions for semantic_answers: responses of models that also answer questions with the same meaning. */
import type { Db } from '../connection/db.ts';
import { atLeast } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface SemanticAnswerRow {
  organisation_id: string;
  /** SHA-256 of the callers that share the answer, and of everything in the request but the question. */
  scope: Buffer;
  /** SHA-256 of the question. */
  question_hash: Buffer;
  /** '' for a key of the organisation. */
  workspace_id: string;
  /** 32-bit floats, little-endian; a unit vector. */
  embedding: Buffer;
  status: number;
  content_type: string;
  body: Buffer;
  created_at: number;
  expires_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    semantic_answers: SemanticAnswerRow;
  }
}

export type SemanticAnswerKey = Pick<
  SemanticAnswerRow,
  'organisation_id' | 'scope' | 'question_hash'
>;

const table = rows('semantic_answers');

/** The newest embeddings of a scope that were stored at `since` or later. */
export function listEmbeddings(
  db: Db,
  { organisation_id, scope }: Pick<SemanticAnswerKey, 'organisation_id' | 'scope'>,
  since: number,
  limit: number,
): Promise<Pick<SemanticAnswerRow, 'question_hash' | 'embedding'>[]> {
  return table.list(
    db,
    { organisation_id, scope, created_at: atLeast(since) },
    { columns: ['question_hash', 'embedding'], orderBy: ['created_at desc'], limit },
  );
}

export const { find } = table.keyedBy('organisation_id', 'scope', 'question_hash');

/** Inserts an answer, or replaces the one to the same question. */
export async function put(tx: Db, row: SemanticAnswerRow): Promise<void> {
  const { organisation_id: _, scope: __, question_hash: ___, ...contents } = row;
  await tx.insertInto('semantic_answers').values(row).onDuplicateKeyUpdate(contents).execute();
}

/** Deletes the oldest answers of a workspace beyond `max`. */
export async function trim(
  tx: Db,
  { organisation_id, workspace_id }: Pick<SemanticAnswerRow, 'organisation_id' | 'workspace_id'>,
  max: number,
): Promise<void> {
  const place = { organisation_id, workspace_id };
  const surplus = (await table.count(tx, place)) - max;
  if (surplus <= 0) return;
  await table.delete(tx, place, { orderBy: ['created_at'], limit: surplus });
}

export function deleteWithWorkspace(
  tx: Db,
  {
    organisationId,
    workspaceId,
  }: { readonly organisationId: string; readonly workspaceId: string },
): Promise<number> {
  return table.delete(tx, { organisation_id: organisationId, workspace_id: workspaceId });
}
