/** Finds stored documents with unknown fields, and configs that name unknown providers or guardrails. */
import { emptyGuardrails, guardrailReferences } from '../../model/configs/guardrail-references.ts';
import { providerReferences } from '../../model/configs/provider-references.ts';
import { unknownDocumentFields } from '../../model/kinds/unknown-document-fields.ts';
import { type Fault, prefixFaults } from '../../model/wire/fault.ts';
import { faultText } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import type { Inconsistency } from '../../store/consistency.ts';
import { readConsistently } from '../../store/consistent-read.ts';
import {
  listGuardrailNames,
  listProviderNames,
  readStoredDocuments,
  type StoredDocument,
  type StoredNames,
} from '../../store/reads/stored-documents.ts';

const foundMax = 1000;

/** Returns at most {@link foundMax} faults. */
export async function findDocumentFaults(db: Db): Promise<Inconsistency[]> {
  return readConsistently(db, async (tx) => {
    const providers = new StoredProviders(await listProviderNames(tx));
    const guardrails = new StoredGuardrails(await listGuardrailNames(tx));
    const found: Inconsistency[] = [];
    for await (const document of readStoredDocuments(tx)) {
      const { kind, spec, organisationId, table, id } = document;
      const faults = [
        ...unknownDocumentFields(kind, spec),
        ...prefixFaults(['config'], unknownProviders(document, providers)),
        ...prefixFaults(['config'], unknownGuardrails(document, guardrails)),
      ];
      found.push(
        ...faults.map((fault) => ({ organisationId, table, id, fault: faultText(fault) })),
      );
      if (found.length >= foundMax) break;
    }
    return found.slice(0, foundMax);
  });
}

/** The providers of all organisations by slug and id. */
class StoredProviders {
  readonly #names = new Set<string>();

  constructor(rows: readonly StoredNames[]) {
    for (const { organisation_id: organisation, workspace_id: workspace, id, slug } of rows) {
      for (const name of [id, slug]) {
        this.#names.add(`${organisation} ${workspace} ${name}`);
        this.#names.add(`${organisation} ${name}`);
      }
    }
  }

  /** A config of the organisation takes the provider of the workspace whose key uses it. */
  has({ organisationId, workspaceId }: StoredDocument, name: string): boolean {
    const place = workspaceId === null ? organisationId : `${organisationId} ${workspaceId}`;
    return this.#names.has(`${place} ${name}`);
  }
}

function unknownProviders(document: StoredDocument, providers: StoredProviders): Fault[] {
  if (document.kind !== 'Config') return [];
  const owner = document.workspaceId === null ? 'no workspace has' : 'its workspace does not have';
  return providerReferences(document.spec.config)
    .filter(({ provider }) => !providers.has(document, provider))
    .map(({ path, provider }) => ({
      path,
      message: `names the provider "@${provider}", which ${owner}`,
    }));
}

/** The guardrails of all organisations by slug and id. */
class StoredGuardrails {
  readonly #names = new Set<string>();

  constructor(rows: readonly StoredNames[]) {
    for (const { organisation_id: organisation, workspace_id: workspace, id, slug } of rows) {
      for (const name of [id, slug]) this.#names.add(`${organisation} ${workspace} ${name}`);
    }
  }

  has({ organisationId, workspaceId }: StoredDocument, name: string): boolean {
    // UUIDs ignore case, slugs do not.
    return [name, name.toLowerCase()].some((one) =>
      [null, workspaceId].some((at) => this.#names.has(`${organisationId} ${at} ${one}`)),
    );
  }
}

function unknownGuardrails(document: StoredDocument, guardrails: StoredGuardrails): Fault[] {
  if (document.kind !== 'Config') return [];
  const { config } = document.spec;
  const unknown = guardrailReferences(config)
    .filter(({ guardrail }) => !guardrails.has(document, guardrail))
    .map(({ path, guardrail }) => ({
      path,
      message: `names the guardrail "${guardrail}", which cannot judge its requests`,
    }));
  const empty = emptyGuardrails(config).map((path) => ({
    path,
    message: 'has no checks and names no guardrail',
  }));
  return [...unknown, ...empty];
}
