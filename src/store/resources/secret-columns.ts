/** Reads and rewrites documents with secrets and their versions, without a new version of the resource. */
import { idToBytes } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import { moreThan } from '../rows/predicate.ts';
import { type Rows, rows } from '../rows/rows.ts';

/** Documents may have a megabyte. */
const batchRows = 20;

/** One document column of a resource, which its versions have under the same name. */
export interface SecretColumn {
  /** A page of the documents of an organisation, by ascending id. */
  listAfter(db: Db, organisationId: string, id: string): Promise<{ id: string; text: string }[]>;
  /** A page of the versions of one resource, by ascending number. */
  listVersionsAfter(
    db: Db,
    organisationId: string,
    id: string,
    number: number,
  ): Promise<StoredVersion[]>;
  /** Locks the row until the transaction ends. */
  findForUpdate(tx: Db, organisationId: string, id: string): Promise<string | null>;
  rewrite(tx: Db, organisationId: string, id: string, text: string): Promise<void>;
  rewriteVersion(db: Db, organisationId: string, id: string, version: StoredVersion): Promise<void>;
}

interface StoredVersion {
  readonly number: number;
  readonly text: string;
}

/** Tables of both kinds differ in names only, so the types of one serve both. */
function secretColumn(
  table: 'configs' | 'guardrails',
  versionsTable: 'config_versions' | 'guardrail_versions',
  column: 'config' | 'checks',
): SecretColumn {
  const resources = rows(table) as unknown as Rows<'configs'>;
  const versions = rows(versionsTable) as unknown as Rows<'config_versions'>;
  const name = column as 'config';
  const versionOf = (organisationId: string, id: string) => ({
    organisation_id: organisationId,
    resource_id: idToBytes(id),
  });
  return {
    listAfter: async (db, organisationId, id) => {
      const where = { organisation_id: organisationId, id: moreThan(id) };
      const options = { columns: ['id', name], orderBy: ['id'], limit: batchRows } as const;
      const page = await resources.list(db, where, options);
      return page.map((row) => ({ id: row.id, text: row[name] }));
    },
    listVersionsAfter: async (db, organisationId, id, number) => {
      const where = { ...versionOf(organisationId, id), number: moreThan(number) };
      const options = { columns: ['number', name], orderBy: ['number'], limit: batchRows } as const;
      const page = await versions.list(db, where, options);
      return page.map((row) => ({ number: row.number, text: row[name] }));
    },
    findForUpdate: async (tx, organisationId, id) => {
      const row = await resources.findForUpdate(tx, { organisation_id: organisationId, id });
      return row?.[name] ?? null;
    },
    rewrite: async (tx, organisationId, id, text) => {
      const set = { [name]: text } as { config: string };
      await resources.update(tx, { organisation_id: organisationId, id }, set);
    },
    rewriteVersion: async (db, organisationId, id, { number, text }) => {
      const set = { [name]: text } as { config: string };
      await versions.update(db, { ...versionOf(organisationId, id), number }, set);
    },
  };
}

export const configColumn = secretColumn('configs', 'config_versions', 'config');
export const guardrailColumn = secretColumn('guardrails', 'guardrail_versions', 'checks');
