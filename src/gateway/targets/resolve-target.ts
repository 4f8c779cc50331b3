/** Knows where a leaf of a config leads: the provider, its address and format, and what the request to it says. */
import type { Dispatcher } from 'undici';
import type { ConfigLeaf, TargetSettings } from '../../model/configs/config-tree.ts';
import { paramChanges } from '../../model/configs/params.ts';
import type { PriceTerms } from '../../model/pricing/effective-price.ts';
import { type AzureDeployment, azureDeploymentOf } from '../../model/services/azure-deployments.ts';
import { type Capabilities, resolveStorage } from '../../model/services/capabilities.ts';
import { outboundUrlFault } from '../../model/services/outbound-url.ts';
import {
  type ProviderAddress,
  providerAddresses,
} from '../../model/services/provider-addresses.ts';
import type { Owner } from '../../objects/owner.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import type { CallRequest } from '../../upstream/call.ts';
import { allDialects } from '../../upstream/dialects/all-dialects.ts';
import { azureBaseUrl, azureDeployment } from '../../upstream/dialects/azure-openai.ts';
import type { Dialect } from '../../upstream/dialects/dialect.ts';
import type { TargetRequest } from '../callers/exchange.ts';
import { markedBody } from '../references/object-mark.ts';
import { changedBody } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { Params } from '../transfer/read-body.ts';
import {
  type GatewayModel,
  type GatewayProvider,
  requireModel,
  requireUsable,
} from './gateway-provider.ts';
import { type NamedProvider, namedProvider } from './named-provider.ts';
import { type Providers, unknownProvider } from './providers.ts';
import type { GatewayConfig } from './resolve-config.ts';
import { type RequestBody, type Translator, translateRequest } from './translator.ts';

/** A call that can be made, as often as need be. */
export interface ResolvedTarget {
  /** As the answer names it: `openai`, `@team-openai`. */
  readonly provider: string;
  /** The one of a workspace; null for a service that was named by itself. */
  readonly workspaceProvider: GatewayProvider | null;
  /** That the provider is asked for; null where the request names none. */
  readonly model: string | null;
  /** What its price is looked up by. */
  readonly pricing: TargetPricing;
  readonly call: CallRequest;
  /** What the provider is asked for, by the name of its endpoint. */
  readonly endpoint: string;
  /** What the body says as it goes out; empty where it is no JSON. */
  readonly params: Params;
  /** Puts the answer in the format of the caller; null where the provider speaks it. */
  readonly translator: Translator | null;
  readonly path: string;
}

type CalledTarget = Pick<ResolvedTarget, 'call' | 'endpoint' | 'params' | 'translator'>;

interface TargetPricing extends PriceTerms {
  /** `openai`. */
  readonly service: string;
  /** The model, or the one that it was made of. */
  readonly model: string | null;
}

/** Where a call goes and what it shows there. */
interface Destination {
  readonly service: string;
  /** In place of the usual address of the service. */
  readonly customHost: string | null;
  readonly account: TargetSettings['account'];
  readonly credential: string | null;
  /** What is said of who keeps what. */
  readonly capabilities: Capabilities | null;
  /** Names in lower case; they count before all others. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An address as it is dialled. */
interface Base {
  readonly origin: string;
  /** Without a slash at the end. */
  readonly prefix: string;
  readonly search: string;
}

/** Answers may take their time; clients end sooner where they want to. */
const silenceTimeoutMs = 600_000;
const basesMax = 10_000;

export class Targets {
  readonly #trusted: TrustedHosts;
  readonly #providers: Providers;
  readonly #bases = new Map<string, Base>();

  constructor(trusted: TrustedHosts, providers: Providers) {
    this.#trusted = trusted;
    this.#providers = providers;
  }

  /**
   * At once where nothing has to be asked of the database.
   *
   * @throws GatewayError where the leaf, the headers and the body name no provider that can be called
   */
  resolve(
    leaf: ConfigLeaf,
    exchange: TargetRequest,
    { workspaceId }: Pick<GatewayConfig, 'workspaceId'>,
  ): ResolvedTarget | Promise<ResolvedTarget> {
    const named = namedProvider(leaf.settings, exchange.params);
    if (!named.provider.startsWith('@')) return this.#toService(leaf, exchange, named);
    const { organisationId, workspace } = exchange.key;
    const scope = { organisationId, workspaceId: workspace?.id ?? workspaceId };
    const found = this.#providers.find(scope, named.provider);
    return found instanceof Promise
      ? found.then((provider) => this.#toProvider(leaf, exchange, named, provider))
      : this.#toProvider(leaf, exchange, named, found);
  }

  #toService(leaf: ConfigLeaf, exchange: TargetRequest, named: NamedProvider): ResolvedTarget {
    const { settings, path } = leaf;
    const { provider: service } = named;
    const said = requestBodyOf(settings, exchange, named.model);
    const { model } = said;
    const { customHost, account } = settings;
    if (customHost === null && !Object.hasOwn(providerAddresses, service)) {
      throw unknownProvider(service);
    }
    const credential = settings.apiKey ?? exchange.credential;
    const destination = {
      service,
      customHost,
      account,
      credential,
      capabilities: null,
      headers: {},
    };
    const called = this.#callTo(destination, settings, exchange, said);
    const pricedAs = pricedModel(service, account, model);
    const pricing = { service, config: null, adjustments: null, model: pricedAs };
    return targetOf({ provider: service, workspaceProvider: null, model, path, pricing }, called);
  }

  /** Everything that goes with the credential comes from the integration: who asks chooses the model only. */
  #toProvider(
    leaf: ConfigLeaf,
    exchange: TargetRequest,
    named: NamedProvider,
    provider: GatewayProvider,
  ): ResolvedTarget {
    const { settings, path } = leaf;
    const { service } = provider;
    requireUsable(provider, exchange.now);
    if (settings.customHost !== null) {
      const message = `The provider @${provider.slug} is called where its integration says; leave out the custom host`;
      throw new GatewayError('custom_host_refused', message, 'custom_host');
    }
    const sent = requestBodyOf(settings, exchange, named.model);
    const { model } = sent;
    const said = requireModel(provider, model, isRead(exchange));
    const deployment = azureDeploymentOf(provider.deployments, model);
    const account = deployedAccount(provider.account, deployment);
    const answering = deployment?.azure_model_slug ?? pricedModel(service, account, model);
    const destination = destinationOf(provider, said, account, exchange);
    const called = this.#callTo(destination, settings, exchange, sent);
    const pricing = {
      service,
      adjustments: (said ?? provider).adjustments,
      config: said?.pricing ?? null,
      model: said?.baseModel ?? answering,
    };
    const name = `@${provider.slug}`;
    return targetOf({ provider: name, workspaceProvider: provider, model, path, pricing }, called);
  }

  #callTo(
    destination: Destination,
    settings: TargetSettings,
    exchange: TargetRequest,
    said: RequestBody,
  ): CalledTarget {
    const { service, account, capabilities } = destination;
    const address = addressOf(service);
    const dialect = allDialects[address.dialect];
    const base = this.#baseOf(destination, address);
    const { dialect: name } = address;
    const hasResponses = usesResponsesApi(exchange, service, capabilities);
    const asked = translateRequest(exchange, { service, dialect: name, hasResponses }, said);
    const path = dialect.pathOf(asked.path, account, said.model);
    const headers = headersFor(dialect, destination, settings, exchange);
    const { endpoint, params, translator } = asked;
    const mark = exchange.making?.mark ?? null;
    const isMarked = mark !== null && exchange.isJson && asked.body !== null;
    const body = isMarked ? markedBody(asked.body, mark) : asked.body;
    const call: CallRequest = {
      origin: base.origin,
      path: base.prefix + path + base.search,
      method: exchange.request.method as Dispatcher.HttpMethod,
      headers: translator === null ? headers : translator.headersOf(headers),
      body,
      streamed: exchange.passing,
      silenceTimeoutMs,
    };
    return { call, endpoint, params, translator };
  }

  #baseOf({ service, customHost, account }: Destination, usual: ProviderAddress): Base {
    const address =
      customHost ?? (usual.dialect === 'azure-openai' ? azureBaseUrl(account) : usual.baseUrl);
    if (address === null) {
      const message = `Nothing says where ${service} answers: give it a custom_host`;
      throw new GatewayError('provider_missing', message, 'custom_host');
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

/** As the ledger of objects knows it, however it is called. */
export function providerOf({ provider, workspaceProvider }: ResolvedTarget): string {
  return workspaceProvider === null ? provider : `@${workspaceProvider.id}`;
}

/** Whose ids are one another's: those of one integration; of a service that is named by itself nobody knows the account. */
export function accountOf(
  { workspaceProvider }: Pick<ResolvedTarget, 'workspaceProvider'>,
  { workspaceId }: Pick<Owner, 'workspaceId'>,
): string {
  return workspaceProvider?.integrationId ?? workspaceId;
}

/** Services that are not known by an address are called in the format of OpenAI. */
function addressOf(service: string): ProviderAddress {
  const known = Object.hasOwn(providerAddresses, service) ? providerAddresses[service] : undefined;
  return known ?? { dialect: 'openai', baseUrl: null };
}

/** Else what it is to say is asked for in a chat. */
function usesResponsesApi(
  { path, begun }: TargetRequest,
  service: string,
  said: Capabilities | null,
): boolean {
  if (path !== '/responses') return true;
  return begun?.isContinued !== true && resolveStorage('responses', service, said) !== 'native';
}

/** Everything but the account is as the provider's integration says, or its model. */
function destinationOf(
  provider: GatewayProvider,
  model: GatewayModel | undefined,
  account: Destination['account'],
  { credential }: TargetRequest,
): Destination {
  const headers = provider.headers.reveal();
  return {
    service: provider.service,
    customHost: model?.customHost ?? provider.customHost,
    account,
    credential: provider.credential?.reveal() ?? credential,
    capabilities: provider.capabilities,
    headers: model === undefined ? headers : { ...headers, ...model.headers.reveal() },
  };
}

/** Written out: put together of its parts it costs several times as much. */
function targetOf(
  about: Omit<ResolvedTarget, keyof CalledTarget>,
  called: CalledTarget,
): ResolvedTarget {
  return {
    provider: about.provider,
    workspaceProvider: about.workspaceProvider,
    model: about.model,
    pricing: about.pricing,
    path: about.path,
    call: called.call,
    endpoint: called.endpoint,
    params: called.params,
    translator: called.translator,
  };
}

/** What changes nothing at the provider and asks no model. */
function isRead({ request }: TargetRequest): boolean {
  return request.method === 'GET' || request.method === 'HEAD';
}

/** The bytes as they came, unless the config says otherwise. */
function requestBodyOf(
  settings: TargetSettings,
  { body, params, isJson }: TargetRequest,
  bareModel: string | null,
): RequestBody {
  const sent = typeof params.model === 'string' ? params.model : null;
  if (body === null || !isJson) return { body, params, model: bareModel ?? sent };
  let changes = paramChanges(params, settings);
  if (bareModel !== null) changes = new Map([...(changes ?? []), ['model', bareModel]]);
  if (changes === null) return { body, params, model: sent };
  const model = changes.has('model') ? changes.get('model') : sent;
  return {
    body: changedBody(body, changes),
    params: { ...params, ...Object.fromEntries(changes) },
    model: typeof model === 'string' ? model : null,
  };
}

/** Of the caller, to whichever provider. */
const passedHeaders = ['content-type', 'accept', 'idempotency-key', 'traceparent', 'tracestate'];

function headersFor(
  dialect: Dialect,
  { account, credential, headers: own }: Destination,
  settings: TargetSettings,
  exchange: TargetRequest,
): Record<string, string> {
  const given = exchange.request.headers;
  const headers: Record<string, string> = { ...dialect.usualHeaders };
  const key = exchange.sentKey.reveal();
  for (const names of [passedHeaders, dialect.passedHeaders, forwardedNames(settings, exchange)]) {
    for (const name of names) {
      const value = given[name];
      if (typeof value === 'string' && !value.includes(key)) headers[name] = value;
    }
  }
  const bytes = exchange.passing?.bytes ?? null;
  if (bytes !== null) headers['content-length'] = String(bytes);
  Object.assign(headers, dialect.accountHeaders(account));
  if (credential !== null) Object.assign(headers, dialect.credentialHeaders(credential));
  return Object.assign(headers, own);
}

function forwardedNames(
  { forwardHeaders }: TargetSettings,
  { params }: TargetRequest,
): readonly string[] {
  const names = forwardHeaders?.map((name) => name.toLowerCase()) ?? [];
  // Of a stream in a coding nobody could count, judge or note the events.
  return params.stream === true ? names.filter((name) => name !== 'accept-encoding') : names;
}

/** The account with what a deployment of it says in place of its own. */
function deployedAccount(
  account: TargetSettings['account'],
  deployment: AzureDeployment | undefined,
): TargetSettings['account'] {
  if (deployment === undefined) return account;
  const { azure_deployment_name: azure_deployment_id, azure_api_version } = deployment;
  return {
    ...account,
    azure_deployment_id,
    ...(azure_api_version === undefined ? {} : { azure_api_version }),
  };
}

/** Who asks must not choose by what price: a deployment answers for every model that it is asked for. */
function pricedModel(
  service: string,
  account: TargetSettings['account'],
  model: string | null,
): string | null {
  return service === 'azure-openai' ? (azureDeployment(account) ?? model) : model;
}
