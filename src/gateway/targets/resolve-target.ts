/** Resolves a leaf of a config to a call: provider, address, format, headers and body. */
import type { Dispatcher } from 'undici';
import type { ConfigLeaf, TargetSettings } from '../../model/configs/config-tree.ts';
import { nestedParamSettings } from '../../model/configs/nested-params.ts';
import { paramChanges } from '../../model/configs/params.ts';
import type { MeteringName } from '../../model/endpoints/metering.ts';
import type { PriceTerms } from '../../model/pricing/effective-price.ts';
import { bedrockRegion } from '../../model/services/account-addresses.ts';
import { azureDeploymentOf } from '../../model/services/azure-deployments.ts';
import { type Capabilities, resolveStorage } from '../../model/services/capabilities.ts';
import { modelListsOf } from '../../model/services/model-lists.ts';
import {
  type DialectName,
  type ProviderAddress,
  providerAddresses,
} from '../../model/services/provider-addresses.ts';
import { calledAddress, dialectOf, usualAddress } from '../../model/services/service-address.ts';
import type { Owner } from '../../objects/owner.ts';
import type { Secret } from '../../secret.ts';
import { run, type Slices } from '../../slices.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import type { CallRequest } from '../../upstream/call.ts';
import { allDialects, dialectFormats } from '../../upstream/formats/all-dialects.ts';
import type { TargetRequest } from '../callers/exchange.ts';
import type { ClientTokens, TokenSource } from '../logins/client-tokens.ts';
import { requireServiceHost } from '../logins/own-identity.ts';
import { markedBody } from '../references/object-mark.ts';
import { type AwsLogin, awsLoginOf } from '../signing/aws-login.ts';
import type { AwsSigners } from '../signing/aws-signers.ts';
import type { CallSigner } from '../signing/call-signer.ts';
import { changeBody, isLong } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { Params } from '../transfer/read-body.ts';
import { requireAllowedAddress, requireNoCustomHost } from './allowed-address.ts';
import { deployedAccount, pricedModel } from './azure-account.ts';
import { BaseAddresses } from './base-addresses.ts';
import { bodyIn, headersFor, pathIn } from './dialect-call.ts';
import { type GatewayModel, type GatewayProvider, requireUsable } from './gateway-provider.ts';
import { requireModel } from './model-permission.ts';
import { type NamedProvider, namedProvider } from './named-provider.ts';
import { type Providers, unknownProvider } from './providers.ts';
import type { GatewayConfig } from './resolve-config.ts';
import { countsTokens, type RequestBody, type Translator, translateRequest } from './translator.ts';

/** A call that is ready to be made, also repeatedly. */
export interface ResolvedTarget {
  /** Name in response headers: `openai`, `@team-openai`. */
  readonly provider: string;
  /** Null for a service that was named directly. */
  readonly workspaceProvider: GatewayProvider | null;
  /** Model name sent to the provider; null when the request names none. */
  readonly model: string | null;
  readonly pricing: TargetPricing;
  /** Without the token of `tokens`. */
  readonly call: CallRequest;
  /** Source of the token that each call is sent with; null when the credential is in `call`. */
  readonly tokens: TokenSource | null;
  /** Signs each call; null where no signature is needed. */
  readonly signer: CallSigner | null;
  /** Name of the endpoint at the provider. */
  readonly endpoint: string;
  /** How the usage of the call is bounded. */
  readonly metering: MeteringName;
  /** Members of the body as sent; empty when it is not JSON. */
  readonly params: Params;
  /** Translates the response to the format of the caller; null when the formats are the same. */
  readonly translator: Translator | null;
  /** Whether the gateway answers with an estimate, because the provider does not count tokens. */
  readonly isEstimated: boolean;
  readonly path: string;
}

type CalledTarget = Pick<
  ResolvedTarget,
  'call' | 'signer' | 'endpoint' | 'metering' | 'params' | 'translator' | 'isEstimated'
>;

interface TargetPricing extends PriceTerms {
  /** For example `openai`. */
  readonly service: string;
  /** The priced model: the model itself, or its base model. */
  readonly model: string | null;
}

/** Address, account and credential of a call. */
interface Destination {
  readonly service: string;
  /** Replaces the usual address of the service. */
  readonly customHost: string | null;
  readonly account: TargetSettings['account'];
  readonly credential: string | null;
  readonly capabilities: Capabilities | null;
  /** Login at AWS; null for none. */
  readonly aws: Secret<AwsLogin> | null;
  /** Names in lower case; take precedence over all other headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Long, because slow models are legitimate and clients can set a shorter timeout. */
const silenceTimeoutMs = 600_000;

interface TargetsOptions {
  readonly trusted: TrustedHosts;
  readonly providers: Providers;
  readonly tokens: Pick<ClientTokens, 'sourceOf'>;
  readonly signers: Pick<AwsSigners, 'signerOf'>;
  /** Host and port of the provider `mock-upstream`; null for the usual ones. */
  readonly mockUpstreamHost: string | null;
}

export class Targets {
  readonly #providers: Providers;
  readonly #tokens: TargetsOptions['tokens'];
  readonly #signers: TargetsOptions['signers'];
  readonly #trusted: TrustedHosts;
  readonly #bases: BaseAddresses;

  constructor({ trusted, providers, tokens, signers, mockUpstreamHost }: TargetsOptions) {
    this.#providers = providers;
    this.#tokens = tokens;
    this.#signers = signers;
    this.#trusted = trusted;
    this.#bases = new BaseAddresses(trusted, mockUpstreamHost);
  }

  /**
   * Synchronous when nothing must be read from the database, and the body is not long.
   *
   * @throws GatewayError when leaf, headers and body name no provider that can be called
   */
  resolve(
    leaf: ConfigLeaf,
    exchange: TargetRequest,
    { workspaceId }: Pick<GatewayConfig, 'workspaceId'>,
  ): ResolvedTarget | Promise<ResolvedTarget> {
    const named = namedProvider(leaf.settings, exchange.params);
    const long = isLong(exchange.body);
    if (!named.provider.startsWith('@')) return run(this.#toService(leaf, exchange, named), long);
    const { organisationId, workspace } = exchange.key;
    const scope = { organisationId, workspaceId: workspace?.id ?? workspaceId };
    const lookup = this.#providers.find(scope, named.provider);
    return lookup instanceof Promise
      ? lookup.then((provider) => run(this.#toProvider(leaf, exchange, named, provider), long))
      : run(this.#toProvider(leaf, exchange, named, lookup), long);
  }

  *#toService(
    leaf: ConfigLeaf,
    exchange: TargetRequest,
    named: NamedProvider,
  ): Slices<ResolvedTarget> {
    const { settings, path } = leaf;
    const { provider: service } = named;
    const body = yield* requestBodyOf(settings, exchange, named.model);
    const { model } = body;
    const { customHost, account } = settings;
    if (customHost === null && !Object.hasOwn(providerAddresses, service)) {
      throw unknownProvider(service);
    }
    const credential = settings.apiKey ?? exchange.credential;
    const aws = awsLoginOf(account, 'config', false);
    const own = { capabilities: null, headers: {}, aws };
    const destination = { service, customHost, account, credential, ...own };
    const called = yield* this.#callTo(destination, settings, exchange, body);
    const pricedAs = pricedModel(service, account, model);
    const pricing = { service, config: null, adjustments: null, version: '', model: pricedAs };
    const about = { provider: service, workspaceProvider: null, model, path, pricing };
    return targetOf(about, called, null);
  }

  /** Everything sent with the credential comes from the integration; the caller chooses only the model. */
  *#toProvider(
    leaf: ConfigLeaf,
    exchange: TargetRequest,
    named: NamedProvider,
    provider: GatewayProvider,
  ): Slices<ResolvedTarget> {
    const { settings, path } = leaf;
    const { service } = provider;
    requireUsable(provider, exchange.now);
    requireNoCustomHost(settings, provider);
    const sent = yield* requestBodyOf(settings, exchange, named.model);
    const { model } = sent;
    const setting = yield* requireModel(provider, exchange, sent);
    const deployment = azureDeploymentOf(provider.deployments, model);
    const account = deployedAccount(provider.account, deployment);
    const answering = deployment?.azure_model_slug ?? pricedModel(service, account, model);
    const destination = destinationOf(provider, setting, account, exchange);
    requireAllowedAddress(provider, destination, usualAddress(provider.service));
    const called = yield* this.#callTo(destination, settings, exchange, sent);
    const login = provider.login?.reveal() ?? null;
    if (login !== null) requireServiceHost(login, called.call.origin, this.#trusted);
    const pricing = {
      service,
      adjustments: (setting ?? provider).adjustments,
      config: setting?.pricing ?? null,
      version: provider.integrationVersion,
      model: setting?.baseModel ?? answering,
    };
    const name = `@${provider.slug}`;
    const tokens = provider.login && this.#tokens.sourceOf(provider.integrationId, provider.login);
    const about = { provider: name, workspaceProvider: provider, model, path, pricing };
    return targetOf(about, called, tokens);
  }

  *#callTo(
    destination: Destination,
    settings: TargetSettings,
    exchange: TargetRequest,
    sent: RequestBody,
  ): Slices<CalledTarget> {
    const { service, account, capabilities, aws } = destination;
    const address = calledAddress(usualAddress(service), exchange.path, account);
    const name = dialectOf(address, account, sent.model, exchange.path);
    const dialect = allDialects[name];
    const base = this.#bases.of(destination, address);
    const hasResponses = usesResponsesApi(exchange, service, capabilities);
    const format = {
      service,
      name,
      dialect: dialectFormats[name],
      unsupported: settings.unsupported,
      hasResponses,
      countsMessages: name !== 'bedrock-anthropic',
    };
    const translated = yield* translateRequest(exchange, format, sent);
    const { model } = sent;
    const { headers: sentHeaders } = exchange.request;
    const inDialect = {
      path: translated.path,
      account,
      model,
      params: translated.params,
      headers: sentHeaders,
    };
    const isAnswered = translated.isEstimated || isUnlisted(exchange, name);
    const path = isAnswered ? translated.path : pathIn(dialect, inDialect);
    const body = yield* bodyIn(dialect, inDialect, translated.body, exchange);
    const headers = headersFor(dialect, destination, settings, exchange);
    const { endpoint, metering, params, translator, isEstimated } = translated;
    const call: CallRequest = {
      origin: base.origin,
      path: base.prefix + path + base.search,
      method: exchange.request.method as Dispatcher.HttpMethod,
      headers: translator === null ? headers : translator.headersOf(headers),
      body: yield* markIn(body, exchange),
      streamed: exchange.streamedBody,
      silenceTimeoutMs,
    };
    const signer = aws === null || !isBedrock(address) ? null : this.#signerOf(aws, account);
    return { call, signer, endpoint, metering, params, translator, isEstimated };
  }

  #signerOf(login: Secret<AwsLogin>, account: Destination['account']): CallSigner {
    const region = bedrockRegion(account);
    if (region !== null) return this.#signers.signerOf(login, region);
    const message = 'aws_region must be the name of a region, such as eu-central-1';
    throw new GatewayError('provider_missing', message, 'aws_region');
  }
}

/** Whether the request is for a list of models that the provider does not have. */
function isUnlisted({ path, request }: TargetRequest, dialect: DialectName): boolean {
  return path === '/models' && request.method === 'GET' && modelListsOf(dialect) === null;
}

/** Adds the mark of an object whose creation is tracked. */
function* markIn(
  body: Buffer | null,
  { trackedCreation, isJson }: TargetRequest,
): Slices<Buffer | null> {
  const mark = trackedCreation?.mark ?? null;
  if (mark === null || !isJson || body === null) return body;
  yield;
  return markedBody(body, mark);
}

/** Name of the provider in the table of owned objects, which does not change with its slug. */
export function providerOf({ provider, workspaceProvider }: ResolvedTarget): string {
  return workspaceProvider === null ? provider : `@${workspaceProvider.id}`;
}

/** Scope in which object ids are unique: the integration, or the workspace when the account is unknown. */
export function accountOf(
  { workspaceProvider }: Pick<ResolvedTarget, 'workspaceProvider'>,
  { workspaceId }: Pick<Owner, 'workspaceId'>,
): string {
  return workspaceProvider?.integrationId ?? workspaceId;
}

/** Whether the provider receives a responses request; otherwise it receives a chat request. */
function usesResponsesApi(
  { path, newResponse }: TargetRequest,
  service: string,
  capabilities: Capabilities | null,
): boolean {
  if (path !== '/responses' && !countsTokens(path)) return true;
  if (newResponse?.isContinued === true) return false;
  const terms = { service, configured: capabilities, isAnthropicCaller: false };
  return resolveStorage('responses', terms) !== 'native';
}

/** Everything but the account comes from the integration or its model. */
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
    credential: isSigned(provider) ? null : (provider.credential?.reveal() ?? credential),
    capabilities: provider.capabilities,
    aws: provider.aws,
    headers: model === undefined ? headers : { ...headers, ...model.headers.reveal() },
  };
}

/** Whether the credential is obtained for each call. */
function isSigned({ login, aws, service }: GatewayProvider): boolean {
  return login !== null || (aws !== null && isBedrock(usualAddress(service)));
}

function isBedrock({ dialect }: ProviderAddress): boolean {
  return dialect === 'bedrock-converse';
}

/** Lists the properties because a spread costs several times as much. */
function targetOf(
  about: Omit<ResolvedTarget, keyof CalledTarget | 'tokens'>,
  called: CalledTarget,
  tokens: TokenSource | null,
): ResolvedTarget {
  return {
    provider: about.provider,
    workspaceProvider: about.workspaceProvider,
    tokens,
    model: about.model,
    pricing: about.pricing,
    path: about.path,
    call: called.call,
    signer: called.signer,
    endpoint: called.endpoint,
    metering: called.metering,
    params: called.params,
    translator: called.translator,
    isEstimated: called.isEstimated,
  };
}

/** Returns the received bytes unless the config changes parameters. */
function* requestBodyOf(
  settings: TargetSettings,
  { path, body, params, isJson, hasConfigParams }: TargetRequest,
  bareModel: string | null,
): Slices<RequestBody> {
  const sent = typeof params.model === 'string' ? params.model : null;
  if (body === null || !isJson) return { body, params, model: bareModel ?? sent };
  let changes =
    hasConfigParams === true
      ? null
      : paramChanges(params, nestedParamSettings(settings, params, path));
  if (bareModel !== null) changes = new Map([...(changes ?? []), ['model', bareModel]]);
  if (changes === null) return { body, params, model: sent };
  const model = changes.has('model') ? changes.get('model') : sent;
  return {
    body: yield* changeBody(body, changes),
    params: { ...params, ...Object.fromEntries(changes) },
    model: typeof model === 'string' ? model : null,
  };
}
