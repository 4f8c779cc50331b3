/** Formats vector stores, their files and batches for responses; times are in seconds. */
import type * as storeFiles from '../../store/objects/vector-store-files.ts';
import type * as vectorStores from '../../store/objects/vector-stores.ts';

const fileStatuses = ['in_progress', 'completed', 'failed', 'cancelled'] as const;

export type FileCounts = Readonly<Record<(typeof fileStatuses)[number] | 'total', number>>;

function countsOf(rows: readonly storeFiles.StatusCount[]): FileCounts {
  const count = (status: string) =>
    rows.reduce((sum, row) => sum + (row.status === status ? row.files : 0), 0);
  return {
    in_progress: count('in_progress'),
    completed: count('completed'),
    failed: count('failed'),
    cancelled: count('cancelled'),
    total: rows.reduce((sum, { files }) => sum + files, 0),
  };
}

/** @param counts of the files by status, for any number of stores */
export function vectorStoreRecord(
  row: vectorStores.StoredVectorStore,
  counts: readonly storeFiles.StatusCount[],
  now: number,
) {
  const own = counts.filter((count) => count.vector_store_id === row.id);
  const fileCounts = countsOf(own);
  const isExpired = row.status !== 'active' || (row.expires_at !== null && row.expires_at <= now);
  return {
    id: row.id,
    object: 'vector_store',
    created_at: seconds(row.created_at),
    // Clients that validate responses require a name.
    name: row.name ?? '',
    description: row.description,
    usage_bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
    file_counts: fileCounts,
    status: isExpired ? 'expired' : fileCounts.in_progress > 0 ? 'in_progress' : 'completed',
    // Clients expect the field to be absent, not null.
    ...(row.expires_after_days !== null && {
      expires_after: { anchor: 'last_active_at', days: row.expires_after_days },
    }),
    expires_at: row.expires_at === null ? null : seconds(row.expires_at),
    last_active_at: seconds(row.last_active_at),
    metadata: JSON.parse(row.metadata),
    embedding_model: row.embedding_model,
  };
}

export function vectorStoreFileRecord(row: storeFiles.StoredVectorStoreFile) {
  return {
    id: row.id,
    object: 'vector_store.file',
    created_at: seconds(row.created_at),
    vector_store_id: row.vector_store_id,
    status: row.status,
    usage_bytes: row.usage_bytes,
    last_error:
      row.error_code === null ? null : { code: row.error_code, message: row.error_message },
    chunking_strategy: {
      type: 'static',
      static: {
        max_chunk_size_tokens: row.chunk_tokens,
        chunk_overlap_tokens: row.overlap_tokens,
      },
    },
    attributes: JSON.parse(row.attributes),
  };
}

export function fileBatchRecord(
  id: string,
  vectorStoreId: string,
  counts: readonly storeFiles.StatusCount[],
  began: number,
) {
  const fileCounts = countsOf(counts);
  const { in_progress: left, cancelled } = fileCounts;
  return {
    id,
    object: 'vector_store.files_batch',
    created_at: seconds(began),
    vector_store_id: vectorStoreId,
    file_counts: fileCounts,
    status: left > 0 ? 'in_progress' : cancelled > 0 ? 'cancelled' : 'completed',
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
