/** Reads the configuration of gateways from a sealed snapshot, with the results that the database would return. */
import { DatabaseUnavailable } from '../connection/unavailable.ts';
import type { ConfigurationReads } from './configuration-reads.ts';
import { findRenderable } from './prompt-reads.ts';
import * as rows from './snapshot-joins.ts';
import { findMcpServerIn } from './snapshot-mcp-joins.ts';
import { snapshotPrompts } from './snapshot-prompts.ts';
import type { OrganisationView, SnapshotView } from './snapshot-view.ts';

/** A snapshot, and what its gaps mean. */
export interface ReadableSnapshot {
  readonly view: SnapshotView;
  /** Whether a resource that the snapshot lacks did not exist when the database was last reached. */
  readonly isComplete: boolean;
  /** Database time up to which `isComplete` holds; null for an unknown time. */
  readonly completeUntilMs: number | null;
  /** Whether its origin responds, so that hardly anything can have been created since. */
  readonly isInForce: boolean;
}

/**
 * Longest time between the making of a value and the commit of its key, by clocks that may differ by minutes: a client
 * of the Admin API may make the value.
 */
const deliveryMaxMs = 600_000;

/**
 * A missing resource is reported as missing only when the snapshot is complete; otherwise the read fails like that of
 * an unreachable database.
 */
export class SnapshotReads implements ConfigurationReads {
  readonly #read: () => ReadableSnapshot;

  /** `read` throws, like an unreachable database, when no snapshot may be used now. */
  constructor(read: () => ReadableSnapshot) {
    this.#read = read;
  }

  readonly findHolder: ConfigurationReads['findHolder'] = async (hash, now, madeAtMs) => {
    const snapshot = this.#read();
    const row = snapshot.view.keyValue(hash);
    if (row === undefined) {
      const { completeUntilMs } = snapshot;
      // A key that was made later may exist, whoever made it.
      if (completeUntilMs === null || madeAtMs > completeUntilMs - deliveryMaxMs)
        throw unknownHere();
      requireComplete(snapshot);
      return undefined;
    }
    return row.valid_until === null || row.valid_until > now ? row : undefined;
  };

  readonly findKey: ConfigurationReads['findKey'] = async (organisationId, id) =>
    this.#find(organisationId, (view) => rows.findKeyIn(view, id));

  readonly findTokenWorkspace: ConfigurationReads['findTokenWorkspace'] = async (
    organisation,
    workspace,
  ) => {
    const found = this.#find(organisation, (view) => rows.findTokenWorkspaceIn(view, workspace));
    // A token does not tell when its workspace was created.
    if (found === undefined && !this.#read().isInForce) throw unknownHere();
    return found;
  };

  readonly findWorkspace: ConfigurationReads['findWorkspace'] = async (organisationId, reference) =>
    this.#find(organisationId, (view) => rows.findActiveWorkspaceIn(view, reference));

  readonly findConfig: ConfigurationReads['findConfig'] = async (organisationId, reference) =>
    this.#find(organisationId, (view) => rows.findConfigIn(view, reference));

  readonly findGuardrail: ConfigurationReads['findGuardrail'] = async (organisationId, reference) =>
    this.#find(organisationId, (view) => rows.findGuardrailIn(view, reference));

  readonly listBudgets: ConfigurationReads['listBudgets'] = async (organisationId, subjectIds) =>
    rows.listBudgetsIn(this.#organisation(organisationId), subjectIds);

  readonly listPolicies: ConfigurationReads['listPolicies'] = async (organisationId) =>
    rows.listPoliciesIn(this.#organisation(organisationId));

  readonly listProviders: ConfigurationReads['listProviders'] = async (
    organisationId,
    workspaceId,
    reference,
  ) => {
    const view = this.#organisation(organisationId);
    const found = rows.listProvidersIn(view, workspaceId, reference);
    if (found.providers.length === 0) requireComplete(this.#read());
    return found;
  };

  readonly listSlugsOfProviders: ConfigurationReads['listSlugsOfProviders'] = async (
    organisationId,
    workspaceId,
  ) => rows.listSlugsIn(this.#organisation(organisationId), workspaceId);

  readonly findPrompt: ConfigurationReads['findPrompt'] = async (organisationId, reference) => {
    const snapshot = this.#read();
    const view = snapshot.view.organisation(organisationId);
    const prompt = view && (await findRenderable(snapshotPrompts(view), reference));
    if (prompt === undefined) requireComplete(snapshot);
    return prompt && { generation: view!.generation, prompt };
  };

  readonly findMcpServer: ConfigurationReads['findMcpServer'] = async (
    organisationId,
    slug,
    callerWorkspaceId,
  ) => this.#find(organisationId, (view) => findMcpServerIn(view, slug, callerWorkspaceId));

  readonly findDataKey: ConfigurationReads['findDataKey'] = async (organisationId) =>
    this.#find(organisationId, ({ dataKey }) => dataKey ?? undefined);

  #find<T>(organisation: string, find: (view: OrganisationView) => T | undefined): T | undefined {
    const snapshot = this.#read();
    const view = snapshot.view.organisation(organisation);
    const found = view && find(view);
    if (found === undefined) requireComplete(snapshot);
    return found;
  }

  /** Lists of an unknown organisation must not pass for empty ones: limits would be missing. */
  #organisation(id: string): OrganisationView {
    const view = this.#read().view.organisation(id);
    if (view === undefined) throw unknownHere();
    return view;
  }
}

/** @throws DatabaseUnavailable when something that is missing may exist in the database */
function requireComplete({ isComplete }: ReadableSnapshot): void {
  if (!isComplete) throw unknownHere();
}

function unknownHere(): DatabaseUnavailable {
  return new DatabaseUnavailable(
    'The database does not respond, and the snapshot of the configuration may lack what was changed since',
  );
}
