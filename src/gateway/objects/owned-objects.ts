/** Serves requests about objects of callers: finds the owner and the provider, and hides objects of others. */

import type { ConfigLeaf } from '../../model/configs/config-tree.ts';
import { type CapabilityStorage, resolveStorage } from '../../model/services/capabilities.ts';
import { ObjectError, type ObjectResponse } from '../../objects/object-request.ts';
import type { ResponseWriter } from '../../objects/responses/response-writer.ts';
import { run } from '../../slices.ts';
import type * as ownedObjects from '../../store/objects/owned-objects.ts';
import { type Exchange, isAnthropicCaller } from '../callers/exchange.ts';
import { deliver } from '../calls/deliver.ts';
import type { TargetOutcome } from '../calls/outcome.ts';
import type { RequestContext } from '../calls/request-context.ts';
import { callTarget, guardTarget } from '../calls/target-stages.ts';
import { callTargets } from '../calls/walk-config.ts';
import type { ModelRequestObjects } from '../references/model-request-objects.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import {
  accountDataTypeIn,
  findAmbiguousMembers,
  type Reference,
} from '../references/owned-references.ts';
import { isCallerAccount } from '../targets/caller-account.ts';
import { providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';
import { isLong } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { deliverOwned } from './deliver-owned.ts';
import { deliverRecorded } from './deliver-recorded.ts';
import { requireForwardedBounds } from './forwarded-object.ts';
import { isResponseCreation, type NewResponseRequest, newResponse } from './new-response.ts';
import { objectRecorder } from './object-recorder.ts';
import { objectRequestOf, withBody } from './object-request.ts';
import { listOwned } from './owned-list.ts';
import { leafTo, notFound, OwnedLookup, type OwnedObjectsOptions } from './owned-lookup.ts';
import { createAt, type PendingObject } from './pending-object.ts';
import { localJson, sendObject } from './send-object.ts';

export class OwnedObjects {
  readonly #options: OwnedObjectsOptions;

  constructor(options: OwnedObjectsOptions) {
    this.#options = options;
  }

  /**
   * Serves a request for a path of objects.
   *
   * @throws GatewayError when the object does not exist, or belongs to somebody else
   */
  async serve(context: RequestContext, owned: OwnedPath): Promise<void> {
    const { exchange } = context;
    await requireUnambiguous(exchange);
    let created: NewResponseRequest = { exchange, keeping: null, turn: null };
    try {
      const lookup = new OwnedLookup(exchange.key, this.#options);
      if (isResponseCreation(owned, exchange.request.method)) {
        const { now, bodyBytesMax } = context.services;
        const { owner } = lookup;
        created = await newResponse(exchange, { ...this.#options, now, owner, bodyBytesMax });
      }
      context.draft.exchange = created.exchange;
      const request = context.withExchange(created.exchange);
      await new OwnedRequest(request, owned, lookup, created.keeping).run();
    } catch (thrown) {
      if (!(thrown instanceof ObjectError)) throw thrown;
      const { code, message, param, cause } = thrown;
      if (code === 'unavailable') context.services.onFault(cause, exchange.id);
      throw new GatewayError(code, message, param, { cause: thrown });
    } finally {
      // A reservation that could not be released ends by itself.
      await created.turn?.release().catch((error) => context.services.onFault(error, exchange.id));
    }
  }

  /**
   * Serves a model request that names objects, or whose response may contain new ones.
   *
   * @throws GatewayError when a named object does not exist, or belongs to somebody else
   */
  async serveModelRequest(
    context: RequestContext,
    { references, extractor }: ModelRequestObjects,
  ): Promise<void> {
    const { exchange, calls } = context;
    await requireUnambiguous(exchange);
    const lookup = new OwnedLookup(exchange.key, this.#options);
    const { db, owner } = lookup;
    const foreign = await lookup.firstUnknown(references);
    await lookup.requireReadable(references);
    let usesCallerAccount = true;
    const outcome = await callTargets(context, async (_, leaf) => {
      const target = await calls.targetOf(leaf, exchange);
      usesCallerAccount = isCallerAccount(target, leaf, exchange);
      if (foreign !== null && !usesCallerAccount) throw notFound(foreign);
      return callTarget(context, leaf);
    });
    const { target, status, kind } = outcome;
    const isOriginal =
      status >= 200 && status <= 299 && kind !== 'cached' && target.translator === null;
    if (extractor === null || usesCallerAccount || !isOriginal) return deliver(context, outcome);
    const recorder = objectRecorder(context, extractor, { db, owner, target, pending: null });
    return deliverRecorded(context, outcome, recorder, null);
  }
}

class OwnedRequest {
  #context: RequestContext;
  readonly #owned: OwnedPath;
  readonly #lookup: OwnedLookup;
  /** The object that the responding provider was asked to create; null when its creation is not tracked. */
  #pending: PendingObject | null = null;
  /** Stores the response if the gateway creates it; null when it is not stored. */
  readonly #keeping: ResponseWriter | null;
  /** Response of a family of objects that the gateway itself stores. */
  #answer: ObjectResponse | null = null;
  /** Objects that the body names. */
  #named: readonly Reference[] = [];
  /** Whether the gateway composed a list from what the provider has. */
  #isListed = false;

  constructor(
    context: RequestContext,
    owned: OwnedPath,
    lookup: OwnedLookup,
    keeping: ResponseWriter | null,
  ) {
    this.#context = context;
    this.#owned = owned;
    this.#lookup = lookup;
    this.#keeping = keeping;
  }

  async run(): Promise<void> {
    const { kind, id } = this.#owned;
    if (id === null) return this.#runWithoutId();
    this.#answer = await askFamily(this.#context, this.#owned, this.#lookup);
    if (this.#answer !== null) return sendObject(this.#context, this.#answer);
    const row = await this.#lookup.find(kind, id);
    if (row === undefined) {
      return this.#finish(await this.#callConfig({ kind, id, param: null }), null);
    }
    refuseAccountData(this.#owned, this.#context.exchange);
    requireForwardedBounds(this.#owned, this.#context.exchange);
    const named = await this.#lookup.referencesIn(this.#context.exchange, this.#owned);
    const foreign = await this.#lookup.firstUnknown(named);
    if (foreign !== null) throw notFound(foreign);
    await this.#lookup.requireReadable(named);
    return this.#finish(await this.#callLeaf(await leafTo(this.#context, row)), row);
  }

  /** Creates or lists objects. A continuation is created at the provider of the object it continues. */
  async #runWithoutId(): Promise<void> {
    this.#named = await this.#lookup.referencesIn(this.#context.exchange, this.#owned);
    const foreign = await this.#lookup.firstUnknown(this.#named);
    const prior = priorOf(this.#owned, this.#context.exchange);
    const row = prior === null ? undefined : await this.#lookup.find(prior.kind, prior.id);
    if (row === undefined) return this.#finish(await this.#callConfig(foreign), null);
    if (foreign !== null) throw notFound(foreign);
    await this.#lookup.requireReadable(this.#named);
    return this.#finish(await this.#callLeaf(await leafTo(this.#context, row)), null);
  }

  /** Calls one target in place of those of the config. */
  async #callLeaf(leaf: ConfigLeaf): Promise<TargetOutcome> {
    await this.#takeBody();
    return callTargets(this.#context.withTargets(leaf), callTarget);
  }

  /** Calls the targets of the config. Objects of others may be requested only with the caller's own account. */
  async #callConfig(foreign: Reference | null): Promise<TargetOutcome | null> {
    try {
      return await callTargets(this.#context, (_, leaf) => this.#callTarget(leaf, foreign));
    } catch (thrown) {
      const isUnnamed = thrown instanceof GatewayError && thrown.code === 'provider_missing';
      if (!isUnnamed) throw thrown;
      if (foreign !== null) throw notFound(foreign);
      this.#answer = await askFamily(this.#context, this.#owned, this.#lookup);
      if (this.#answer === null) throw thrown;
      return null;
    }
  }

  async #callTarget(leaf: ConfigLeaf, foreign: Reference | null): Promise<TargetOutcome> {
    const { calls, exchange } = this.#context;
    const target = await calls.targetOf(leaf, exchange);
    const usesCallerAccount = isCallerAccount(target, leaf, exchange);
    if (!usesCallerAccount) refuseAccountData(this.#owned, exchange);
    const keeper = keeperAt(target, this.#owned, exchange);
    // Translated chat completions have no items, so creating one reports the error.
    const isMissingItem = foreign?.kind === 'items' && keeper === 'native';
    if (foreign !== null && !usesCallerAccount && !isMissingItem) throw notFound(foreign);
    if (this.#owned.id !== null) {
      requireForwardedBounds(this.#owned, exchange);
      await this.#takeBody();
      return callTarget(this.#context, leaf);
    }
    if (keeper === 'off') {
      const message = `The provider ${target.provider} does not support ${this.#owned.kind}`;
      throw new GatewayError('not_found', message);
    }
    if (keeper === 'native')
      this.#answer = await askFamily(this.#context, this.#owned, this.#lookup);
    if (this.#answer !== null) return localJson(target, null);
    await this.#lookup.requireReadable(this.#named);
    requireForwardedBounds(this.#owned, exchange);
    const { method } = exchange.request;
    if (!usesCallerAccount && method !== 'POST') {
      requireListing(method);
      this.#isListed = true;
      return guardTarget(this.#context, leaf, () =>
        listAt(this.#context, this.#owned, this.#lookup, target),
      );
    }
    await this.#takeBody();
    return usesCallerAccount ? callTarget(this.#context, leaf) : this.#create(leaf, target);
  }

  async #create(leaf: ConfigLeaf, target: ResolvedTarget): Promise<TargetOutcome> {
    const { db, owner } = this.#lookup;
    const created = await createAt(this.#context, this.#owned, { db, owner, target }, (context) =>
      callTarget(context, leaf),
    );
    this.#context = created.context;
    this.#pending = created.pending;
    return created.outcome;
  }

  async #takeBody(): Promise<void> {
    if (this.#context.exchange.unreadUpload === undefined) return;
    this.#context = await withBody(this.#context);
  }

  /** `row` is the requested object when a provider has it. */
  async #finish(
    outcome: TargetOutcome | null,
    row: ownedObjects.OwnedObject | null,
  ): Promise<void> {
    const context = this.#context;
    if (this.#answer !== null) return sendObject(context, this.#answer);
    const { request, response } = context.arrival;
    // The rest of an upload is not read once the provider has stopped reading it.
    if (!request.complete) response.shouldKeepAlive = false;
    return deliverOwned(context, outcome!, {
      owned: this.#owned,
      lookup: this.#lookup,
      row,
      pending: this.#pending,
      keeping: this.#keeping,
      isListed: this.#isListed,
    });
  }
}

/** The object of a provider that a request continues; null for none, and for one that the gateway continues itself. */
function priorOf(
  { kind }: OwnedPath,
  { params, newResponse }: Exchange,
): { readonly kind: 'interactions' | 'responses'; readonly id: string } | null {
  const isInteraction = kind === 'interactions';
  const id = isInteraction ? params.previous_interaction_id : params.previous_response_id;
  if (typeof id !== 'string' || newResponse?.isContinued === true) return null;
  return { kind: isInteraction ? 'interactions' : 'responses', id };
}

/** The response of the family that stores objects of this kind here; null for none. */
async function askFamily(
  context: RequestContext,
  owned: OwnedPath,
  lookup: OwnedLookup,
): Promise<ObjectResponse | null> {
  const family = lookup.family(owned.kind);
  return family?.handle(objectRequestOf(context, owned, lookup.owner)) ?? null;
}

/** The recorded objects of the owner at the target. */
async function listAt(
  context: RequestContext,
  owned: OwnedPath,
  { owner, db }: OwnedLookup,
  target: ResolvedTarget,
): Promise<TargetOutcome> {
  const provider = providerOf(target);
  const page = await listOwned(context, owned, { owner, db, target, provider });
  return localJson(target, page);
}

/** Rejects methods other than POST and GET on a collection. */
function requireListing(method: string | undefined): void {
  if (method === 'GET') return;
  throw new GatewayError('not_found', 'This method does not apply to a collection');
}

/** Rejects a body in which another reader could find objects of others. */
async function requireUnambiguous(exchange: Exchange): Promise<void> {
  if (!(await run(findAmbiguousMembers(exchange), isLong(exchange.body)))) return;
  const message = 'The JSON body contains a duplicate member in one of its objects';
  throw new GatewayError('invalid_json', message);
}

/** Rejects evaluations of data that other users of the same account created. */
function refuseAccountData({ kind }: OwnedPath, { params }: Exchange): void {
  const type = kind === 'evals' ? accountDataTypeIn(params) : null;
  if (type === null) return;
  const message = `Data of the type ${type} covers the whole shared account; name a file instead`;
  throw new GatewayError('invalid_request', message, 'type');
}

function keeperAt(
  { pricing, workspaceProvider }: ResolvedTarget,
  { capability, servicesWithOwn }: OwnedPath,
  { request }: Exchange,
): CapabilityStorage {
  if (capability === null || servicesWithOwn.includes(pricing.service)) return 'proxy';
  return resolveStorage(capability, {
    service: pricing.service,
    configured: workspaceProvider?.capabilities ?? null,
    isAnthropicCaller: isAnthropicCaller(request),
  });
}
