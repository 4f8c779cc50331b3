/** Knows which objects are the caller's, and where the provider that has one of them is called. */
import type { ConfigNode, Leaf } from '../../model/config-tree.ts';
import type { ObjectFamily, ObjectKind } from '../../objects/object-request.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Responses } from '../../objects/responses/responses.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import * as ownedObjects from '../../store/tables/owned-objects.ts';
import type { Calling } from '../answering/calling.ts';
import type { Exchange } from '../callers/exchange.ts';
import { formReferences } from '../references/form-references.ts';
import { type Reference, referencesOf } from '../references/owned-references.ts';
import { providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

export interface OwnObjectsOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly responses: Responses;
  /** Of what else the gateway keeps itself. */
  readonly families: readonly ObjectFamily[];
}

/** Of one caller. */
export class OwnedLookup {
  readonly owner: Owner;
  readonly db: Db;
  readonly database: OwnObjectsOptions['database'];
  readonly #families: readonly ObjectFamily[];

  constructor(key: Exchange['key'], { database, responses, families }: OwnObjectsOptions) {
    this.owner = ownerOf(key);
    this.database = database;
    this.db = database.db;
    this.#families = [responses, ...families];
  }

  family(kind: ObjectKind): ObjectFamily | undefined {
    return this.#families.find(({ kinds }) => kinds.includes(kind));
  }

  /** One that a provider has. */
  find(kind: ObjectKind, id: string): Promise<ownedObjects.OwnedObject | undefined> {
    return ownedObjects.find(this.db, { ...this.owner, kind }, id);
  }

  /**
   * The first object that the body names and that is not the caller's; null for none.
   *
   * @throws GatewayError for a body in which others could see other objects
   */
  async stranger(exchange: Exchange, asked: ObjectKind): Promise<Reference | null> {
    const { params, begun } = exchange;
    const isKnown = ({ param }: Reference): boolean =>
      begun?.isContinued === true && param === 'previous_response_id';
    const inForm = await formReferences(exchange, asked);
    const references = [...referencesOf(params, asked), ...inForm];
    return this.firstUnknown(references.filter((one) => !isKnown(one)));
  }

  /** The first that is not the caller's, items after all others; null for none. */
  async firstUnknown(references: readonly Reference[]): Promise<Reference | null> {
    const groups = [...Map.groupBy(references, (one) => one.kind)];
    groups.sort(([one], [other]) => Number(one === 'items') - Number(other === 'items'));
    for (const [kind, named] of groups) {
      const ids = [...new Set(named.map(({ id }) => id))];
      const known = new Set(await this.#listOwned(kind, ids));
      const stranger = named.find(({ id }) => !known.has(id));
      if (stranger !== undefined) return stranger;
    }
    return null;
  }

  async #listOwned(kind: ObjectKind, ids: readonly string[]): Promise<string[]> {
    const own = (await this.family(kind)?.listOwned(this.owner, kind, ids)) ?? [];
    const others = ids.filter((id) => !own.includes(id));
    if (others.length === 0) return [...own];
    const rows = await ownedObjects.listKnown(this.db, { ...this.owner, kind }, others);
    return [...own, ...rows.map((row) => row.object_id)];
  }
}

export function ownerOf({ organisationId, workspace, id }: Exchange['key']): Owner {
  return { organisationId, workspaceId: workspace?.id ?? '', apiKeyId: id };
}

/** Whether the caller itself has an account there, of which the gateway knows nothing. */
export function isCallersAccount(
  { workspaceProvider }: ResolvedTarget,
  leaf: Leaf,
  { credential }: Exchange,
): boolean {
  return workspaceProvider === null && leaf.settings.apiKey === null && credential !== null;
}

/** Alike for what does not exist and what is not the caller's. */
export function notFound({ kind, param }: Omit<Reference, 'id'>): GatewayError {
  const named = param === null ? '' : `, as ${param} names one`;
  return new GatewayError('not_found', `There is none of these ${kind}${named}`, param);
}

/**
 * A target of the config that is the provider of the object. Where none is, the first one stands in for
 * what it says of all, but not for asking models, which the config leads elsewhere.
 */
export async function leafTo(
  { calls, exchange, config }: Calling,
  { provider, kind }: ownedObjects.OwnedObject,
): Promise<Leaf> {
  const leaves = leavesOf(config.root);
  for (const leaf of leaves) {
    const target = await Promise.resolve()
      .then(() => calls.targetOf(leaf, exchange))
      .catch((thrown: unknown) => {
        if (thrown instanceof GatewayError) return null;
        throw thrown;
      });
    if (target !== null && providerOf(target) === provider) return leaf;
  }
  const [first] = leaves;
  if (exchange.begun !== undefined) {
    const message =
      'The config leads to another provider than that of the response it goes on from';
    throw new GatewayError('invalid_request', message, 'previous_response_id');
  }
  if (!provider.startsWith('@')) throw notFound({ kind: kind as ObjectKind, param: null });
  const elsewhere = { virtualKey: null, customHost: null, apiKey: null, overrideParams: null };
  return { ...first!, settings: { ...first!.settings, ...elsewhere, provider } };
}

export function leavesOf(node: ConfigNode): Leaf[] {
  return node.kind === 'leaf' ? [node] : node.targets.flatMap(leavesOf);
}
