/** Fetches the model lists of providers within a time limit, and caches them for a short time. */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { readJson } from '../../model/json/read-object.ts';
import { type ListedModel, parseModelList } from '../../model/providers/model-list.ts';
import { modelListsOf } from '../../model/services/model-lists.ts';
import { usualAddress } from '../../model/services/service-address.ts';
import { Call } from '../../upstream/call.ts';
import type { Origins } from '../../upstream/origins.ts';
import { Caller } from '../transfer/caller.ts';
import { decompressBody } from '../transfer/content-encoding.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { readWhole } from '../transfer/gather.ts';
import { SignalReceiver } from '../transfer/signal-receiver.ts';
import { authorizedCall } from './authorized-call.ts';
import type { ResolvedTarget } from './resolve-target.ts';

/** The models of a provider, or why they are unknown. */
export type ProviderModelList =
  | { readonly models: readonly ListedModel[] }
  | { readonly fault: string };

/** Clients wait 3 s for a list of models. */
export const listMsMax = 2_500;
const listCachedMs = 60_000;
/** A provider that fails is not called for each list. */
const faultCachedMs = 10_000;
const cachedBytesMax = 32 * 1024 * 1024;

interface CachedList {
  readonly list: ProviderModelList;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
}

export class ProviderModels {
  readonly #origins: Origins;
  readonly #cache = new LRUCache<string, CachedList>({
    maxSize: cachedBytesMax,
    sizeCalculation: ({ bytes }) => bytes,
  });
  readonly #running = new Map<string, Promise<ProviderModelList>>();

  constructor(origins: Origins) {
    this.#origins = origins;
  }

  /** Never rejects. `target` is resolved for `GET /models`; `now` in milliseconds since the epoch. */
  list(target: ResolvedTarget, now: number): ProviderModelList | Promise<ProviderModelList> {
    const lists = modelListsOf(usualAddress(target.pricing.service).dialect);
    if (lists === null) return { fault: 'it has no list of models' };
    const key = keyOf(target);
    const cached = this.#cache.get(key);
    if (cached !== undefined && cached.endsAt > now) return cached.list;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const fetching = this.#fetchAll(target, lists)
      .then(({ list, bytes }) => {
        const endsAt = now + ('fault' in list ? faultCachedMs : listCachedMs);
        this.#cache.set(key, { list, bytes: bytes + key.length, endsAt });
        return list;
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, fetching);
    return fetching;
  }

  /** A list that fails is left out where another one is there. */
  async #fetchAll(
    target: ResolvedTarget,
    lists: readonly string[],
  ): Promise<Omit<CachedList, 'endsAt'>> {
    const fetched = await Promise.all(lists.map((end) => this.#fetch(target, end)));
    const models = fetched.flatMap(({ list }) => ('models' in list ? list.models : []));
    const bytes = fetched.reduce((sum, one) => sum + one.bytes, 0);
    const isKnown = fetched.some(({ list }) => 'models' in list);
    return { list: isKnown ? { models } : fetched[0]!.list, bytes };
  }

  /** The signature of a call covers its whole path. */
  async #fetch(target: ResolvedTarget, end: string): Promise<Omit<CachedList, 'endsAt'>> {
    try {
      const listed = { ...target.call, path: target.call.path + end };
      const authorized = await authorizedCall({ ...target, call: listed });
      const call = new Call(this.#origins.at(authorized.origin), authorized);
      const timer = setTimeout(() => call.cut(new Error('late')), listMsMax);
      try {
        return await readList(call);
      } finally {
        clearTimeout(timer);
      }
    } catch (thrown) {
      const code = thrown instanceof GatewayError ? thrown.code : null;
      const { message } = thrown as Error;
      const late = message === 'late' ? `no answer within ${listMsMax} ms` : null;
      return { list: { fault: code ?? late ?? 'it cannot be reached' }, bytes: 0 };
    }
  }
}

async function readList(call: Call): Promise<Omit<CachedList, 'endsAt'>> {
  await call.responseStarted;
  const caller = new Caller(new SignalReceiver(undefined));
  const { body, end } = await readWhole(call, { caller, lingerMs: 0, events: null });
  const bytes = body.length;
  if (end.kind === 'broken') throw end.error;
  if (call.status !== 200) return { list: { fault: `status ${call.status}` }, bytes };
  const plain = decompressBody(call.headers, body) ?? body;
  const models = parseModelList(readJson(plain.toString('utf8')));
  return { list: models === null ? { fault: 'it returned no list' } : { models }, bytes };
}

/** The same for the same account at the same address. */
function keyOf({ call, workspaceProvider }: ResolvedTarget): string {
  const { origin, path, headers } = call;
  const account = [origin, path, headers, workspaceProvider?.integrationId];
  return hash('sha256', JSON.stringify(account), 'base64url');
}
