/** Seals the secrets of configs that an older version stored as text. */
import type { ConfigDocument } from '../model/configs/config.ts';
import type { Database, Db } from '../store/connection/db.ts';
import * as configDocuments from '../store/resources/config-documents.ts';
import * as organisations from '../store/resources/organisations.ts';
import { sealPlainConfigSecrets } from './config-secrets.ts';
import type { Keyring, Sealer } from './keyring.ts';

type SealedText = (configId: string, text: string) => string;

/**
 * Seals the secrets in configs and their versions, which keep their version and meaning. Can be interrupted
 * at any point and repeated, also concurrently. Resolves to the number of documents that were rewritten.
 */
export async function sealPlainConfigs(
  database: Pick<Database, 'db' | 'transaction'>,
  keyring: Pick<Keyring, 'sealerOf'>,
  signal: AbortSignal,
): Promise<number> {
  let rewritten = 0;
  for (const organisationId of await organisations.listIds(database.db)) {
    let after = '';
    for (;;) {
      signal.throwIfAborted();
      const page = await configDocuments.listAfter(database.db, organisationId, after);
      if (page.length === 0) break;
      // An organisation without configs needs no key.
      const sealed = sealedBy(await keyring.sealerOf(organisationId));
      for (const { id, config } of page) {
        const isPlain = sealed(id, config) !== config;
        if (isPlain) rewritten += await rewriteLocked(database, organisationId, id, sealed);
        rewritten += await rewriteVersions(database.db, organisationId, id, sealed);
      }
      after = page.at(-1)!.id;
    }
  }
  return rewritten;
}

/** Returns the text itself when it contains no plain secret. */
function sealedBy(sealer: Sealer): SealedText {
  return (configId, text) => {
    const document = JSON.parse(text) as ConfigDocument;
    const sealed = sealPlainConfigSecrets(sealer, configId, document);
    return sealed === document ? text : JSON.stringify(sealed);
  };
}

/** Reads the row again under a lock, because an update may have replaced the document. */
async function rewriteLocked(
  { transaction }: Pick<Database, 'transaction'>,
  organisationId: string,
  id: string,
  sealed: SealedText,
): Promise<number> {
  return transaction(async (tx) => {
    const text = await configDocuments.findForUpdate(tx, organisationId, id);
    const written = text === null ? null : sealed(id, text);
    if (written === null || written === text) return 0;
    await configDocuments.rewrite(tx, organisationId, id, written);
    return 1;
  });
}

/** Versions are only inserted and deleted, so they need no lock. */
async function rewriteVersions(
  db: Db,
  organisationId: string,
  id: string,
  sealed: SealedText,
): Promise<number> {
  let rewritten = 0;
  for (let after = 0; ; ) {
    const page = await configDocuments.listVersionsAfter(db, organisationId, id, after);
    if (page.length === 0) return rewritten;
    for (const { number, config: text } of page) {
      const config = sealed(id, text);
      if (config === text) continue;
      await configDocuments.rewriteVersion(db, organisationId, id, { number, config });
      rewritten += 1;
    }
    after = page.at(-1)!.number;
  }
}
