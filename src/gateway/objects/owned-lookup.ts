/** Finds which objects belong to the caller, and which target has one of them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import { leavesOf } from '../../model/configs/reached-targets.ts';
import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import { isObjectId } from '../../objects/object-id.ts';
import type { ObjectFamily } from '../../objects/object-request.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Conversations } from '../../objects/responses/conversations.ts';
import type { Responses } from '../../objects/responses/responses.ts';
import { run } from '../../slices.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import * as ownedObjects from '../../store/objects/owned-objects.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { formReferences } from '../references/form-references.ts';
import {
  findReferences,
  type Reference,
  type ReferenceForm,
} from '../references/owned-references.ts';
import { providerOf } from '../targets/resolve-target.ts';
import { isLong } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** Ids in one statement, whose parameters are bounded. */
const idsMax = 1_000;

export interface OwnedObjectsOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly responses: Responses;
  readonly conversations: Conversations;
  /** Families of the other objects that the gateway itself stores. */
  readonly families: readonly ObjectFamily[];
}

/** Looks up the objects of one caller. */
export class OwnedLookup {
  readonly owner: Owner;
  readonly db: Db;
  readonly database: OwnedObjectsOptions['database'];
  readonly #families: readonly ObjectFamily[];
  readonly #responses: Responses;

  constructor(
    key: Exchange['key'],
    { database, responses, conversations, families }: OwnedObjectsOptions,
  ) {
    this.owner = ownerOf(key);
    this.database = database;
    this.db = database.db;
    this.#families = [responses, conversations, ...families];
    this.#responses = responses;
  }

  family(kind: ObjectKind): ObjectFamily | undefined {
    return this.#families.find(({ kinds }) => kinds.includes(kind));
  }

  /** Finds an object that a provider has. */
  find(kind: ObjectKind, id: string): Promise<ownedObjects.OwnedObject | undefined> {
    return ownedObjects.find(this.db, { ...this.owner, kind }, id);
  }

  /**
   * Returns the objects in the body, except the response that a new one of the gateway continues.
   *
   * @throws GatewayError for a body in which another reader could find other objects
   */
  async referencesIn(exchange: Exchange, form: ReferenceForm): Promise<Reference[]> {
    const { params, newResponse } = exchange;
    const isContinued = ({ param }: Reference): boolean =>
      newResponse?.isContinued === true && param === 'previous_response_id';
    const inForm = await formReferences(exchange, form);
    const inBody = await run(findReferences(params, form), isLong(exchange.body));
    if (isLong(exchange.body)) await nextTurn();
    return [...inBody, ...inForm].filter((one) => !isContinued(one));
  }

  /** @throws GatewayError for an object that the gateway itself stores, because no provider can read it */
  async requireReadable(references: readonly Reference[]): Promise<void> {
    const ofGateways = references.filter(({ id }) => isObjectId(id));
    for (const [kind, named] of Map.groupBy(ofGateways, (one) => one.kind)) {
      const family = this.family(kind);
      if (family === undefined || family === this.#responses) continue;
      const ids = [...new Set(named.map(({ id }) => id))];
      const [stored] = await family.listOwned(this.owner, kind, ids);
      const held = named.find(({ id }) => id === stored);
      if (held !== undefined) throw storedHere(held);
    }
  }

  /** Returns the first that does not belong to the caller, items last; null for none. */
  async firstUnknown(references: readonly Reference[]): Promise<Reference | null> {
    const groups = [...Map.groupBy(references, (one) => one.kind)];
    groups.sort(([one], [other]) => Number(one === 'items') - Number(other === 'items'));
    for (const [kind, named] of groups) {
      const ids = [...new Set(named.map(({ id }) => id))];
      const owned = new Set(await this.#listOwned(kind, ids));
      const foreign = named.find(({ id }) => !owned.has(id));
      if (foreign !== undefined) return foreign;
    }
    return null;
  }

  async #listOwned(kind: ObjectKind, ids: readonly string[]): Promise<string[]> {
    const own = (await this.family(kind)?.listOwned(this.owner, kind, ids)) ?? [];
    const found = new Set(own);
    const others = ids.filter((id) => !found.has(id));
    for (let at = 0; at < others.length; at += idsMax) {
      const some = others.slice(at, at + idsMax);
      const rows = await ownedObjects.listKnown(this.db, { ...this.owner, kind }, some);
      for (const row of rows) found.add(row.object_id);
      if (rows.length < some.length) break;
    }
    return [...found];
  }
}

export function ownerOf({ organisationId, workspace, id }: Exchange['key']): Owner {
  return { organisationId, workspaceId: workspace?.id ?? '', apiKeyId: id };
}

/** Returns the same error for an object of another caller, so that its existence stays hidden. */
export function notFound({ kind, param }: Omit<Reference, 'id'>): GatewayError {
  const subject = param === null ? 'The path' : param;
  const message = `${subject} refers to an object in ${kind} that does not exist`;
  return new GatewayError('not_found', message, param);
}

/** Returns the error for an object that the gateway stores, in a request to a provider. */
function storedHere({ kind, param }: Omit<Reference, 'id'>): GatewayError {
  const message =
    `${param} names an object in ${kind} that the gateway stores, so the provider cannot read it: ` +
    'create it with an integration whose capabilities leave it to the provider (proxy)';
  return new GatewayError('invalid_request', message, param);
}

/**
 * Returns the target of the config whose provider has the object. If there is none, the first target is
 * redirected to that provider, except for model requests, whose provider the config alone decides.
 */
export async function leafTo(
  { calls, exchange, config }: RequestContext,
  { provider, kind }: ownedObjects.OwnedObject,
): Promise<ConfigLeaf> {
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
  if (exchange.newResponse !== undefined) {
    const message =
      'The config selects a different provider than the one that has the previous response';
    throw new GatewayError('invalid_request', message, 'previous_response_id');
  }
  if (!provider.startsWith('@')) throw notFound({ kind: kind as ObjectKind, param: null });
  const elsewhere = { virtualKey: null, customHost: null, apiKey: null, overrideParams: null };
  return { ...first!, settings: { ...first!.settings, ...elsewhere, provider } };
}
