/** Builds a provider of a workspace as the gateway uses it: account, address, models and validity. */
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
  /** Slug and version of the integration, such as `team-openai@7`. */
  readonly integrationVersion: string;
  /** Whether the integration is active and granted to the workspace. */
  readonly isGranted: boolean;
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number | null;
  /** Slug of the service at which the integration has an account. */
  readonly service: string;
  /** Fields whose values come from secret managers; null when there are none. */
  readonly mapped: Secret<MappedAccount> | null;
  /** Whether models without a setting may be used. */
  readonly allowsAllModels: boolean;
  /** Whether every model may be used. */
  readonly allowsAnyModel: boolean;
  /** Model settings by slug. */
  readonly models: ReadonlyMap<string, GatewayModel>;
  readonly adjustments: PricingAdjustments | null;
  /** Paths that may be called although they are not in the catalogue of endpoints. */
  readonly rawPaths: readonly string[];
  /** Determines whether the provider or the gateway stores objects of callers. */
  readonly capabilities: Capabilities | null;
  /** Budgets and rate limits of the provider, and of its workspace in the integration. */
  readonly terms: LimitTerms;
}

/** A stored account and the fields that secret managers fill. */
interface MappedAccount {
  readonly account: OpenedAccount;
  readonly fields: readonly MappedField[];
  /** Shown in place of secrets. */
  readonly origin: string;
}

/** Settings of one model. */
export interface GatewayModel {
  readonly isEnabled: boolean;
  readonly customHost: string | null;
  readonly headers: Secret<Headers>;
  /** Model whose price applies when this one has none. */
  readonly baseModel: string | null;
  readonly pricing: PricingConfig | null;
  /** Falls back to those of the integration. */
  readonly adjustments: PricingAdjustments | null;
}

/** Reads everything but the limits. */
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
    integrationVersion: `${slug}@${integration.version}`,
    isGranted:
      integration.status === 'active' && isGranted(integration, grant, provider.workspace_id),
    endsAtMs: provider.expires_at,
    service: integration.ai_provider,
    ...buildAccount(integration.ai_provider, account, origin),
    mapped: fields.length === 0 ? null : new Secret({ account, fields, origin }, origin),
    allowsAllModels,
    allowsAnyModel: allowsAllModels && models.every(({ enabled }) => enabled),
    models: new Map(
      models.map((model) => [model.slug, readModel(unsealer, id, model, adjustments)]),
    ),
    adjustments,
    // Other workspaces may use an integration of the organisation.
    rawPaths: integration.workspace_id === null ? [] : (stored.raw_paths ?? []),
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

/** Header names in lower case, as they are sent. */
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

/** @throws GatewayError when the provider has expired, or its workspace may not use the integration */
export function requireUsable({ slug, isGranted, endsAtMs }: GatewayProvider, now: number): void {
  if (endsAtMs !== null && endsAtMs <= now) {
    throw new GatewayError('provider_expired', `The provider @${slug} has expired`, 'provider');
  }
  if (isGranted) return;
  const message = `The workspace of the provider @${slug} may not use its integration`;
  throw new GatewayError('provider_not_allowed', message, 'provider');
}
