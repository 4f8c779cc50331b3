/** Seals the secrets of configs and guardrails that an older version stored as text. */
import type { ConfigDocument } from '../model/configs/config.ts';
import type { CheckList } from '../model/guardrails/check-secrets.ts';
import type { Database, Db } from '../store/connection/db.ts';
import * as organisations from '../store/resources/organisations.ts';
import {
  configColumn,
  guardrailColumn,
  type SecretColumn,
} from '../store/resources/secret-columns.ts';
import type { Keyring, Sealer } from './keyring.ts';
import { configSecretsOf, guardrailSecretsOf } from './secret-documents.ts';

/** Seals a text of one resource; returns the text itself when it contains no plain secret. */
type SealText = (sealer: Sealer, id: string, text: string) => string;

interface PlainKind {
  readonly column: SecretColumn;
  readonly sealText: SealText;
}

const kinds: readonly PlainKind[] = [
  { column: configColumn, sealText: sealConfig },
  { column: guardrailColumn, sealText: sealGuardrail },
];

function sealConfig(sealer: Sealer, id: string, text: string): string {
  const document = JSON.parse(text) as ConfigDocument;
  const sealed = configSecretsOf.sealPlain(sealer, id, document);
  return sealed === document ? text : JSON.stringify(sealed);
}

function sealGuardrail(sealer: Sealer, id: string, text: string): string {
  const checks = JSON.parse(text) as CheckList['checks'];
  const sealed = guardrailSecretsOf.sealPlain(sealer, id, { checks });
  return sealed.checks === checks ? text : JSON.stringify(sealed.checks);
}

/**
 * Seals the secrets in documents and their versions, which keep their version and meaning. Can be interrupted
 * at any point and repeated, also concurrently. Resolves to the number of documents that were rewritten.
 */
export async function sealPlainDocuments(
  database: Pick<Database, 'db' | 'transaction'>,
  keyring: Pick<Keyring, 'sealerOf'>,
  signal: AbortSignal,
): Promise<number> {
  let rewritten = 0;
  for (const organisationId of await organisations.listIds(database.db)) {
    for (const { column, sealText } of kinds) {
      let after = '';
      for (;;) {
        signal.throwIfAborted();
        const page = await column.listAfter(database.db, organisationId, after);
        if (page.length === 0) break;
        // An organisation without documents needs no key.
        const sealer = await keyring.sealerOf(organisationId);
        const terms = { column, organisationId, sealed: sealText.bind(null, sealer) };
        for (const { id, text } of page) {
          if (terms.sealed(id, text) !== text)
            rewritten += await rewriteLocked(database, terms, id);
          rewritten += await rewriteVersions(database.db, terms, id);
        }
        after = page.at(-1)!.id;
      }
    }
  }
  return rewritten;
}

/** The documents of one kind in one organisation. */
interface SealTerms {
  readonly column: SecretColumn;
  readonly organisationId: string;
  readonly sealed: (id: string, text: string) => string;
}

/** Reads the row again under a lock, because an update may have replaced the document. */
async function rewriteLocked(
  { transaction }: Pick<Database, 'transaction'>,
  { column, organisationId, sealed }: SealTerms,
  id: string,
): Promise<number> {
  return transaction(async (tx) => {
    const text = await column.findForUpdate(tx, organisationId, id);
    const written = text === null ? null : sealed(id, text);
    if (written === null || written === text) return 0;
    await column.rewrite(tx, organisationId, id, written);
    return 1;
  });
}

/** Versions are only inserted and deleted, so they need no lock. */
async function rewriteVersions(
  db: Db,
  { column, organisationId, sealed }: SealTerms,
  id: string,
): Promise<number> {
  let rewritten = 0;
  for (let after = 0; ; ) {
    const page = await column.listVersionsAfter(db, organisationId, id, after);
    if (page.length === 0) return rewritten;
    for (const version of page) {
      const text = sealed(id, version.text);
      if (text === version.text) continue;
      await column.rewriteVersion(db, organisationId, id, { number: version.number, text });
      rewritten += 1;
    }
    after = page.at(-1)!.number;
  }
}
