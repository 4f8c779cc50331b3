/** Knows where a leaf of a config leads: the provider, its address and format, and what the request to it says. */
import type { Dispatcher } from 'undici';
import type { Leaf, TargetSettings } from '../model/config-tree.ts';
import { membersOf, withMembers } from '../model/json-object.ts';
import { outboundUrlFault } from '../model/outbound-url.ts';
import { paramChanges } from '../model/params.ts';
import { type ProviderAddress, providerAddresses } from '../model/provider-addresses.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import type { CallRequest } from '../upstream/call.ts';
import { allDialects } from '../upstream/dialects/all-dialects.ts';
import { azureBaseUrl } from '../upstream/dialects/azure-openai.ts';
import type { Dialect } from '../upstream/dialects/dialect.ts';
import type { Exchange } from './exchange.ts';
import { GatewayError } from './gateway-error.ts';

/** A call that can be made, as often as need be. */
export interface ResolvedTarget {
  /** As the answer names it: `openai`, `@team-openai`. */
  readonly provider: string;
  /** That the provider is asked for; null where the request names none. */
  readonly model: string | null;
  readonly call: CallRequest;
  readonly path: string;
}

/** An address as it is dialled. */
interface Base {
  readonly origin: string;
  /** Without a slash at the end. */
  readonly prefix: string;
  readonly search: string;
}

/** Answers may take their time before they begin; clients end sooner where they want to. */
const firstByteTimeoutMs = 600_000;
const idleTimeoutMs = 300_000;
const basesMax = 10_000;

export class Targets {
  readonly #trusted: TrustedHosts;
  readonly #bases = new Map<string, Base>();

  constructor(trusted: TrustedHosts) {
    this.#trusted = trusted;
  }

  /** @throws GatewayError where the leaf, the headers and the body name no provider that can be called */
  resolve(leaf: Leaf, exchange: Exchange): ResolvedTarget {
    const { settings, path } = leaf;
    const named = namedProvider(settings, exchange);
    const provider = providerOf(named.provider, settings);
    const dialect = allDialects[provider.dialect];
    const base = this.#baseOf(settings, provider);
    const { body, model } = bodyFor(settings, exchange, named.model);
    const callerPath = exchange.path + exchange.query;
    return {
      ...{ provider: named.provider, model, path },
      call: {
        origin: base.origin,
        path: base.prefix + dialect.pathOf(callerPath, settings.account, model) + base.search,
        method: exchange.request.method as Dispatcher.HttpMethod,
        headers: headersFor(dialect, settings, exchange),
        body,
        ...{ firstByteTimeoutMs, idleTimeoutMs },
      },
    };
  }

  #baseOf(settings: TargetSettings, provider: ProviderAddress): Base {
    const address =
      settings.customHost ??
      (provider.dialect === 'azure-openai' ? azureBaseUrl(settings.account) : provider.baseUrl);
    if (address === null) {
      throw new GatewayError(
        'provider_missing',
        'The target names no address to call',
        'custom_host',
      );
    }
    const known = this.#bases.get(address);
    if (known !== undefined) return known;
    const fault = outboundUrlFault(address, this.#trusted);
    if (fault !== null) {
      throw new GatewayError('custom_host_refused', `The custom host ${fault}`, 'custom_host');
    }
    const { origin, pathname, search } = new URL(address);
    if (search !== '') {
      const message = 'The custom host must not have a query';
      throw new GatewayError('custom_host_refused', message, 'custom_host');
    }
    const base = { origin, prefix: pathname.replace(/\/+$/, ''), search };
    if (this.#bases.size === basesMax) this.#bases.clear();
    this.#bases.set(address, base);
    return base;
  }
}

/** What a config pins counts first, then the model that it sets, then headers, then the model asked for. */
function namedProvider(
  settings: TargetSettings,
  { params }: Exchange,
): { provider: string; model: string | null } {
  const pinned = settings.provider ?? settings.virtualKey;
  const model = settings.overrideParams?.model ?? params.model;
  const slash = typeof model === 'string' && model.startsWith('@') ? model.indexOf('/') : -1;
  const inModel = slash < 0 ? null : (model as string).slice(0, slash);
  const bare = slash < 0 ? null : (model as string).slice(slash + 1);
  const provider = pinned ?? inModel ?? (settings.customHost === null ? null : 'openai');
  if (provider !== null) return { provider, model: bare };
  const message =
    'Nothing says which provider to call: send x-gateway-config or x-gateway-provider, or give the key a config';
  throw new GatewayError('provider_missing', message, 'x-gateway-provider');
}

function providerOf(name: string, { customHost }: TargetSettings): ProviderAddress {
  const known = Object.hasOwn(providerAddresses, name) ? providerAddresses[name] : undefined;
  if (known !== undefined) return known;
  if (customHost !== null && !name.startsWith('@')) return { dialect: 'openai', baseUrl: null };
  const shown = /^@?[\w.-]{1,255}$/.test(name) ? ` ${name}` : '';
  throw new GatewayError('provider_unknown', `There is no provider${shown}`, 'provider');
}

/** The bytes as they came, unless the config says otherwise. */
function bodyFor(
  settings: TargetSettings,
  { body, params, isJson }: Exchange,
  bareModel: string | null,
): { body: Buffer | null; model: string | null } {
  const sent = typeof params.model === 'string' ? params.model : null;
  if (body === null || !isJson) return { body, model: bareModel ?? sent };
  let changes = paramChanges(params, settings);
  if (bareModel !== null) changes = new Map([...(changes ?? []), ['model', bareModel]]);
  if (changes === null) return { body, model: sent };
  const members = membersOf(body);
  if (members === null) throw repeatedMember();
  const model = changes.has('model') ? changes.get('model') : sent;
  return {
    body: withMembers(body, members, changes),
    model: typeof model === 'string' ? model : null,
  };
}

/** Two readers could take one value each, one of them to judge by and the other to act on. */
function repeatedMember(): GatewayError {
  return new GatewayError('invalid_json', 'The JSON body has the same member twice');
}

/** Of the caller, to whichever provider. */
const passedHeaders = ['content-type', 'accept', 'idempotency-key', 'traceparent', 'tracestate'];

function headersFor(
  dialect: Dialect,
  settings: TargetSettings,
  exchange: Exchange,
): Record<string, string> {
  const given = exchange.request.headers;
  const headers: Record<string, string> = { ...dialect.usualHeaders };
  for (const name of passedHeaders) {
    const value = given[name];
    if (typeof value === 'string') headers[name] = value;
  }
  for (const name of dialect.passedHeaders) {
    const value = given[name];
    if (typeof value === 'string') headers[name] = value;
  }
  for (const name of settings.forwardHeaders ?? []) {
    const value = given[name.toLowerCase()];
    if (typeof value === 'string') headers[name.toLowerCase()] = value;
  }
  Object.assign(headers, dialect.accountHeaders(settings.account));
  const credential = settings.apiKey ?? exchange.credential;
  return credential === null ? headers : { ...headers, ...dialect.credentialHeaders(credential) };
}
