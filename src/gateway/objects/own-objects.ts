/** Knows requests about what callers keep: whose it is, who keeps it, and that nobody reaches what others keep. */
import { type KeptBy, keptBy } from '../../model/capabilities.ts';
import type { Leaf } from '../../model/config-tree.ts';
import { type ObjectAnswer, ObjectError } from '../../objects/object-request.ts';
import type { ResponseKeeping } from '../../objects/responses/response-keeping.ts';
import type * as ownedObjects from '../../store/tables/owned-objects.ts';
import type { Calling } from '../answering/calling.ts';
import { attemptOf, send } from '../answering/send-back.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { Attempted } from '../calls/attempt.ts';
import { GuardedCalls } from '../calls/guarded-calls.ts';
import type { AskedObjects } from '../references/asked-objects.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import { accountDataIn, isAmbiguous, type Reference } from '../references/owned-references.ts';
import { tellingOf, tellsOfObjects } from '../references/told-objects.ts';
import { providerOf, type ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { asksForResponse, isInBackground, newResponse, noteOfResponse } from './new-response.ts';
import { sendAndNote } from './noted-answer.ts';
import { type Note, noteDeleted, noteOf } from './noted-objects.ts';
import { answerHere, sendObject } from './object-back.ts';
import { objectRequestOf, withBody } from './object-request.ts';
import { withCharges } from './open-charges.ts';
import { listAt } from './owned-list.ts';
import {
  isCallersAccount,
  leafTo,
  notFound,
  OwnedLookup,
  type OwnObjectsOptions,
} from './owned-lookup.ts';
import { makeAt, type PendingObject } from './pending-object.ts';

export class OwnObjects {
  readonly #options: OwnObjectsOptions;

  constructor(options: OwnObjectsOptions) {
    this.#options = options;
  }

  /** @throws GatewayError for what is not the caller's, as for what does not exist */
  async serve(calling: Calling, owned: OwnedPath): Promise<void> {
    const exchange = { ...calling.exchange, path: owned.path };
    refuseAmbiguous(exchange);
    try {
      const { responses } = this.#options;
      const { now, bodyBytesMax } = calling.pipeline;
      const lookup = new OwnedLookup(exchange.key, this.#options);
      const { db, owner } = lookup;
      const asked = asksForResponse(owned, exchange.request.method)
        ? await newResponse(exchange, { db, now, owner, responses, bodyBytesMax })
        : { exchange, keeping: null };
      calling.found.exchange = asked.exchange;
      const one = { ...calling, exchange: asked.exchange };
      await new OwnedRequest(one, owned, lookup, asked.keeping).run();
    } catch (thrown) {
      if (!(thrown instanceof ObjectError)) throw thrown;
      const { code, message, param, cause } = thrown;
      if (code === 'unavailable') calling.pipeline.onFault(cause, exchange.id);
      throw new GatewayError(code, message, param, { cause: thrown });
    }
  }

  /**
   * Asks a model, of objects or so that it makes some.
   *
   * @throws GatewayError for one that is not the caller's, as for one that does not exist
   */
  async serveAsked(calling: Calling, { references, telling }: AskedObjects): Promise<void> {
    const { pipeline, exchange, caller, calls } = calling;
    refuseAmbiguous(exchange);
    const lookup = new OwnedLookup(exchange.key, this.#options);
    const { db, owner } = lookup;
    const stranger = await lookup.firstUnknown(references);
    const guarded = new GuardedCalls({ guardrails: pipeline.guardrails, calls, exchange, caller });
    let isCallers = true;
    const attempted = await attemptOf(calling, async (leaf) => {
      const target = await calls.targetOf(leaf, exchange);
      isCallers = isCallersAccount(target, leaf, exchange);
      if (stranger !== null && !isCallers) throw notFound(stranger);
      return guarded.call(leaf);
    });
    const { target, status, kept } = attempted;
    const isTold = status >= 200 && status <= 299 && kept === null && target.translator === null;
    if (telling === null || isCallers || !isTold) return send(calling, attempted);
    const note = noteOf(calling, telling, { db, owner, target, pending: null });
    return sendAndNote(calling, attempted, note, null);
  }

  /** @throws GatewayError where that is another's account than the caller's own */
  async serveOfAccount(calling: Calling): Promise<void> {
    const { pipeline, exchange, caller, calls } = calling;
    const guarded = new GuardedCalls({ guardrails: pipeline.guardrails, calls, exchange, caller });
    const attempted = await attemptOf(calling, async (leaf) => {
      const target = await calls.targetOf(leaf, exchange);
      if (isCallersAccount(target, leaf, exchange)) return guarded.call(leaf);
      const message = `${exchange.path} is of the account at the provider, which no caller of the gateway has for itself`;
      throw new GatewayError('not_found', message);
    });
    await send(calling, attempted);
  }
}

class OwnedRequest {
  #calling: Calling;
  readonly #owned: OwnedPath;
  readonly #lookup: OwnedLookup;
  #guarded: GuardedCalls;
  /** What the provider that has answered was asked to make; null where nobody has to know. */
  #pending: PendingObject | null = null;
  /** Of a response that the gateway keeps if it makes it. */
  readonly #keeping: ResponseKeeping | null;
  #answer: ObjectAnswer | null = null;
  /** Whether the gateway has put together what it answers of what a provider has. */
  #isListed = false;

  constructor(
    calling: Calling,
    owned: OwnedPath,
    lookup: OwnedLookup,
    keeping: ResponseKeeping | null,
  ) {
    this.#calling = calling;
    this.#owned = owned;
    this.#lookup = lookup;
    this.#keeping = keeping;
    this.#guarded = guardedCallsOf(calling);
  }

  async run(): Promise<void> {
    const { kind, id } = this.#owned;
    if (id === null) return this.#runForNone();
    this.#answer = await this.#native();
    if (this.#answer !== null) return sendObject(this.#calling, this.#answer);
    const row = await this.#lookup.find(kind, id);
    if (row === undefined)
      return this.#finish(await this.#anywhere({ kind, id, param: null }), null);
    refuseAccountData(this.#owned, this.#calling.exchange);
    const stranger = await this.#lookup.stranger(this.#calling.exchange, kind);
    if (stranger !== null) throw notFound(stranger);
    return this.#finish(await this.#at(await leafTo(this.#calling, row)), row);
  }

  /** One is made, or they are listed; what goes on from an object is made where that is. */
  async #runForNone(): Promise<void> {
    const stranger = await this.#lookup.stranger(this.#calling.exchange, this.#owned.kind);
    const { params, begun } = this.#calling.exchange;
    const prior = params.previous_response_id;
    const isElsewhere = typeof prior === 'string' && begun?.isContinued !== true;
    const row = isElsewhere ? await this.#lookup.find('responses', prior) : undefined;
    if (row === undefined) return this.#finish(await this.#anywhere(stranger), null);
    if (stranger !== null) throw notFound(stranger);
    return this.#finish(await this.#at(await leafTo(this.#calling, row)), null);
  }

  async #at(root: Leaf): Promise<Attempted> {
    await this.#takeBody();
    const calling = { ...this.#calling, config: { ...this.#calling.config, root } };
    return attemptOf(calling, (leaf) => this.#guarded.call(leaf));
  }

  #native(): Promise<ObjectAnswer | null> {
    const family = this.#lookup.family(this.#owned.kind);
    return family === undefined
      ? Promise.resolve(null)
      : family.answer(objectRequestOf(this.#calling, this.#owned, this.#lookup.owner));
  }

  /** Where the config leads. What is not the caller's is asked for by the caller's own account at a provider only. */
  async #anywhere(stranger: Reference | null): Promise<Attempted | null> {
    try {
      return await attemptOf(this.#calling, (leaf) => this.#callLeaf(leaf, stranger));
    } catch (thrown) {
      const isUnnamed = thrown instanceof GatewayError && thrown.code === 'provider_missing';
      if (!isUnnamed) throw thrown;
      if (stranger !== null) throw notFound(stranger);
      this.#answer = await this.#native();
      if (this.#answer === null) throw thrown;
      return null;
    }
  }

  async #callLeaf(leaf: Leaf, stranger: Reference | null): Promise<Attempted> {
    const { calls, exchange } = this.#calling;
    const target = await calls.targetOf(leaf, exchange);
    const isCallers = isCallersAccount(target, leaf, exchange);
    if (!isCallers) refuseAccountData(this.#owned, exchange);
    const keeper = keeperAt(target, this.#owned);
    // Nobody has items where responses are made of chats, which is told when they are.
    const isOfNobody = stranger?.kind === 'items' && keeper === 'native';
    if (stranger !== null && !isCallers && !isOfNobody) throw notFound(stranger);
    if (this.#owned.id !== null) {
      await this.#takeBody();
      return this.#guarded.call(leaf);
    }
    if (keeper === 'off') {
      const message = `The provider ${target.provider} keeps no ${this.#owned.kind} for callers`;
      throw new GatewayError('not_found', message);
    }
    if (keeper === 'native') this.#answer = await this.#native();
    if (this.#answer !== null) return answerHere(target);
    const { method } = exchange.request;
    if (!isCallers && method !== 'POST') {
      if (method !== 'GET') throw new GatewayError('not_found', 'Nothing is done to all of them');
      this.#isListed = true;
      const page = () => listed(this.#calling, this.#owned, this.#lookup, target);
      return this.#guarded.answer(leaf, page);
    }
    await this.#takeBody();
    return isCallers ? this.#guarded.call(leaf) : this.#make(leaf, target);
  }

  async #make(leaf: Leaf, target: ResolvedTarget): Promise<Attempted> {
    const { db, owner } = this.#lookup;
    const made = await makeAt(this.#calling, this.#owned, { db, owner, target }, (calling) =>
      guardedCallsOf(calling).call(leaf),
    );
    this.#calling = made.calling;
    this.#pending = made.pending;
    return made.attempted;
  }

  async #takeBody(): Promise<void> {
    if (this.#calling.exchange.unread === undefined) return;
    this.#calling = await withBody(this.#calling);
    this.#guarded = guardedCallsOf(this.#calling);
  }

  /** `row` where one object is asked for that a provider has. */
  async #finish(attempted: Attempted | null, row: ownedObjects.OwnedObject | null): Promise<void> {
    if (this.#answer !== null) return sendObject(this.#calling, this.#answer);
    const { exchange, arrival } = this.#calling;
    // What is left of a file that the provider has not taken is not waited for.
    if (!arrival.request.complete) arrival.response.shouldKeepAlive = false;
    const { method } = exchange.request;
    const { status, target } = attempted!;
    const isDone = status >= 200 && status <= 299;
    const { db } = this.#lookup;
    if (isDone && row !== null && method === 'DELETE' && this.#owned.rest.length === 0) {
      await noteDeleted(db, row, exchange.now);
    }
    if (this.#isListed || !isDone) return send(this.#calling, attempted!);
    const isMadeHere = exchange.begun !== undefined && target.translator !== null;
    if (isMadeHere && this.#keeping === null) return send(this.#calling, attempted!);
    const noting = { owned: this.#owned, lookup: this.#lookup, pending: this.#pending };
    const note = isMadeHere
      ? noteOfResponse(this.#keeping!)
      : await noteAt(this.#calling, attempted!, noting);
    if (note === null) return send(this.#calling, attempted!);
    const record = isMadeHere && isInBackground(exchange) ? () => this.#keeping!.record : null;
    return sendAndNote(this.#calling, attempted!, note, record);
  }
}

async function listed(
  calling: Calling,
  owned: OwnedPath,
  { owner, db }: OwnedLookup,
  target: ResolvedTarget,
): Promise<Attempted> {
  const provider = providerOf(target);
  return answerHere(target, await listAt(calling, owned, { owner, db, target, provider }));
}

interface Noting {
  readonly owned: OwnedPath;
  readonly lookup: OwnedLookup;
  readonly pending: PendingObject | null;
}

/** Null where there is nothing to be noted of the answer. */
function noteAt(
  calling: Calling,
  attempted: Attempted,
  { owned, lookup, pending }: Noting,
): Promise<Note | null> {
  const { database, db, owner } = lookup;
  const { method } = calling.exchange.request;
  const note = tellsOfObjects(owned, method)
    ? noteOf(calling, tellingOf(owned, method), { db, owner, target: attempted.target, pending })
    : null;
  return withCharges(calling, owned, attempted, { database, owner, note });
}

/** Who reads the body otherwise than we do must not find others' objects in it. */
function refuseAmbiguous(exchange: Exchange): void {
  if (!isAmbiguous(exchange)) return;
  const message = 'The JSON body has the same member twice in one of its objects';
  throw new GatewayError('invalid_json', message);
}

/** What others of the account have asked and were answered is none of the caller's. */
function refuseAccountData({ kind }: OwnedPath, { params }: Exchange): void {
  const type = kind === 'evals' ? accountDataIn(params) : null;
  if (type === null) return;
  const message = `Data of the type ${type} is that of all who share the account: name a file`;
  throw new GatewayError('invalid_request', message, 'type');
}

function keeperAt(
  { pricing, workspaceProvider }: ResolvedTarget,
  { capability }: OwnedPath,
): KeptBy {
  if (capability === null) return 'proxy';
  return keptBy(capability, pricing.service, workspaceProvider?.capabilities ?? null);
}

function guardedCallsOf({ pipeline, exchange, caller, calls }: Calling): GuardedCalls {
  return new GuardedCalls({ guardrails: pipeline.guardrails, calls, exchange, caller });
}
