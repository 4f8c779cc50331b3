/** Knows a provider of a workspace as the gateway uses it: account, address, models, and whether it may be used now. */
import {
  configurationSecretLocations,
  keyContext,
  modelSecretLocations,
} from '../../auth/integration-secrets.ts';
import type { Unsealer } from '../../auth/keyring.ts';
import { type MappedField, resolveMappedFields } from '../../auth/mapped-fields.ts';
import { openSecrets, type SecretLocations } from '../../auth/secret-values.ts';
import { selectAdjustments } from '../../model/pricing/effective-price.ts';
import type {
  IntegrationConfigurations,
  ModelSetting,
  PricingAdjustments,
  PricingConfig,
} from '../../model/providers/integration.ts';
import { isGranted } from '../../model/providers/integration-access.ts';
import type { Capabilities } from '../../model/services/capabilities.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { Secret } from '../../secret.ts';
import type { ReachedProvider } from '../../store/resources/providers.ts';
import type { LimitTerms } from '../callers/limit-terms.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { buildAccount, type OpenedAccount, type ProviderAccount } from './mapped-account.ts';

type Headers = Readonly<Record<string, string>>;

export interface GatewayProvider extends ProviderAccount {
  readonly id: string;
  readonly slug: string;
  readonly integrationId: string;
  /** Whether its workspace may use the integration, and anybody may. */
  readonly isGranted: boolean;
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number | null;
  /** That the integration is an account at, by its slug. */
  readonly service: string;
  /** Where values of secret managers are still to be put; null where there are none. */
  readonly mapped: Secret<MappedAccount> | null;
  /** Whether models may be used of which nothing is said. */
  readonly allowsAllModels: boolean;
  /** Whether there is no model that may not be used. */
  readonly allowsAnyModel: boolean;
  /** Those of which something is said, by slug. */
  readonly models: ReadonlyMap<string, GatewayModel>;
  readonly adjustments: PricingAdjustments | null;
  /** Who keeps what callers make there. */
  readonly capabilities: Capabilities | null;
  /** Budgets and rate limits of the provider, and of its workspace in the integration. */
  readonly terms: LimitTerms;
}

/** An account as it is stored, and what it takes from elsewhere. */
interface MappedAccount {
  readonly account: OpenedAccount;
  readonly fields: readonly MappedField[];
  /** What is shown in place of secrets. */
  readonly origin: string;
}

/** What is said of one model. */
export interface GatewayModel {
  readonly isEnabled: boolean;
  readonly customHost: string | null;
  readonly headers: Secret<Headers>;
  /** Whose price counts where the model has none. */
  readonly baseModel: string | null;
  readonly pricing: PricingConfig | null;
  /** Those of the integration, where it says none of its own. */
  readonly adjustments: PricingAdjustments | null;
}

/** Without its limits, which are read apart. */
export function readProvider(
  { provider, integration, grant, references }: ReachedProvider,
  unsealer: Unsealer,
): Omit<GatewayProvider, 'terms'> {
  const { id, slug, sealed_key: key } = integration;
  const origin = `integration ${slug}`;
  const stored = readDocument<IntegrationConfigurations>(integration.configurations) ?? {};
  const configurations = openSecrets(unsealer, configurationSecretLocations(id), stored);
  const account = { key: key && unsealer.unseal(key, keyContext(id)), configurations };
  const { secret_mappings: mappings } = integration;
  const fields = resolveMappedFields(mappings, references, unsealer, provider.workspace_id);
  const models = readDocument<ModelSetting[]>(integration.models) ?? [];
  const allowsAllModels = integration.allow_all_models !== 0;
  const adjustments = readDocument<PricingAdjustments>(integration.pricing_adjustments);
  return {
    id: provider.id,
    slug: provider.slug,
    integrationId: id,
    isGranted:
      integration.status === 'active' && isGranted(integration, grant, provider.workspace_id),
    endsAtMs: provider.expires_at,
    service: integration.ai_provider,
    ...buildAccount(account, origin),
    mapped: fields.length === 0 ? null : new Secret({ account, fields, origin }, origin),
    allowsAllModels,
    allowsAnyModel: allowsAllModels && models.every(({ enabled }) => enabled),
    models: new Map(
      models.map((model) => [model.slug, readModel(unsealer, id, model, adjustments)]),
    ),
    adjustments,
    capabilities: readDocument<Capabilities>(integration.capabilities),
  };
}

function readModel(
  unsealer: Unsealer,
  integrationId: string,
  setting: ModelSetting,
  ofIntegration: PricingAdjustments | null,
): GatewayModel {
  const { slug, enabled, configurations, base_model_slug, pricing_config } = setting;
  const places = modelSecretLocations(integrationId, slug);
  return {
    isEnabled: enabled,
    customHost: configurations?.custom_host ?? null,
    headers: openHeaders(unsealer, places, configurations?.custom_headers),
    baseModel: base_model_slug ?? null,
    pricing: pricing_config ?? null,
    adjustments: selectAdjustments(setting.pricing_adjustments, ofIntegration),
  };
}

/** Names in lower case, as they are sent. */
function openHeaders(
  unsealer: Unsealer,
  places: SecretLocations,
  sealed: Headers | undefined,
): Secret<Headers> {
  const { custom_headers: opened = {} } = openSecrets(unsealer, places, {
    ...(sealed === undefined ? {} : { custom_headers: sealed }),
  }) as { readonly custom_headers?: Headers };
  const headers = Object.entries(opened).map(([name, value]) => [name.toLowerCase(), value]);
  return new Secret(Object.fromEntries(headers) as Headers, places.context);
}

/** @throws GatewayError for one that has ended, or whose integration its workspace may not use */
export function requireUsable({ slug, isGranted, endsAtMs }: GatewayProvider, now: number): void {
  if (endsAtMs !== null && endsAtMs <= now) {
    throw new GatewayError('provider_expired', `The provider @${slug} has expired`, 'provider');
  }
  if (isGranted) return;
  const message = `The workspace of the provider @${slug} may not use its integration`;
  throw new GatewayError('provider_not_allowed', message, 'provider');
}

/**
 * What is said of the model that is asked for; undefined for nothing. Where not all models may be used,
 * a request that names none could be about any, so only reads go through.
 *
 * @throws GatewayError for a model that may not be used
 */
export function requireModel(
  provider: GatewayProvider,
  model: string | null,
  isRead: boolean,
): GatewayModel | undefined {
  const { slug, models, allowsAllModels, allowsAnyModel } = provider;
  const said = model === null ? undefined : models.get(model);
  const isAllowed =
    model === null ? isRead || allowsAnyModel : (said?.isEnabled ?? allowsAllModels);
  if (isAllowed) return said;
  const message =
    model === null
      ? `The provider @${slug} lets only some models be used, and the request names none`
      : `The provider @${slug} does not let this model be used`;
  throw new GatewayError('model_not_allowed', message, 'model');
}
