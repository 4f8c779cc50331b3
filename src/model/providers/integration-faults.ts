/** Validates integrations beyond their schema: service, URLs, headers, and secrets in plain-text fields. */
import { didYouMean } from '../../suggest.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { isSecretName } from '../secrets/secret-names.ts';
import { aiProviders, findAiProvider } from '../services/ai-providers.ts';
import { headerMapFaults } from '../services/forward-headers.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { type Fault, faultAt, prefixFaults } from '../wire/fault.ts';
import {
  ineffectiveFields,
  unknownFieldFaults,
  unknownFieldsBeside,
} from '../wire/unknown-fields.ts';
import { configurationSecrets } from './configuration-secrets.ts';
import {
  type IntegrationConfigurations,
  type IntegrationCreate,
  ModelConfigurations,
  type ModelSetting,
  PricingConfig,
} from './integration.ts';
import { configurationsOf } from './integration-configurations.ts';

/** Members of configurations that contain a URL which the gateway calls. */
const addresses = [
  'custom_host',
  'oauth_token_endpoint',
  'azure_authority_url',
  'azure_foundry_url',
];

const knownSecrets = new Set(configurationSecrets);

type IntegrationParts = Pick<
  Partial<IntegrationCreate>,
  'ai_provider_id' | 'configurations' | 'models'
>;

/**
 * Returns the faults of an integration; paths start at the body. No fault contains a value.
 *
 * @param service of a stored integration; by default the one that the body names
 */
export function integrationFaults(
  body: IntegrationParts,
  trusted: TrustedHosts,
  service = findAiProvider(body.ai_provider_id ?? '')?.slug,
): Fault[] {
  const { configurations } = body;
  const others = configurationsFaults(configurations ?? {}, trusted);
  const configurationFaults =
    service === undefined
      ? others
      : unknownFieldsBeside(configurationsOf(service), configurations, others);
  return [
    ...faultAt('ai_provider_id', aiProviderFault(body.ai_provider_id)),
    ...prefixFaults(['configurations'], configurationFaults),
    ...prefixFaults(['models'], modelsFaults(body.models ?? [], trusted)),
  ];
}

/** Returns the fields of a stored integration that no schema defines; paths start at its spec. */
export function unknownIntegrationFields({
  ai_provider_id: reference,
  configurations,
  models,
}: Readonly<Record<string, unknown>>): Fault[] {
  const service = findAiProvider(String(reference))?.slug;
  const own =
    service === undefined ? [] : unknownFieldFaults(configurationsOf(service), configurations);
  const ofModels = (Array.isArray(models) ? models : []).flatMap(
    (model: Partial<ModelSetting> | null, at) => [
      ...prefixFaults(
        [at, 'configurations'],
        unknownFieldFaults(ModelConfigurations, model?.configurations),
      ),
      ...prefixFaults(
        [at, 'pricing_config'],
        unknownFieldFaults(PricingConfig, model?.pricing_config),
      ),
    ],
  );
  return [...prefixFaults(['configurations'], own), ...prefixFaults(['models'], ofModels)];
}

/** Returns the faults of a list of models: duplicates and invalid configurations. */
export function modelsFaults(models: readonly ModelSetting[], trusted: TrustedHosts): Fault[] {
  const seen = new Set<string>();
  return models.flatMap(({ slug, configurations, pricing_config: pricing }, at) => {
    const repeated = seen.has(slug) ? [{ path: [at, 'slug'], message: 'is listed twice' }] : [];
    seen.add(slug);
    const faults = unknownFieldsBeside(
      ModelConfigurations,
      configurations,
      configurationsFaults(configurations ?? {}, trusted),
    );
    return [
      ...repeated,
      ...prefixFaults([at, 'configurations'], faults),
      ...prefixFaults([at, 'pricing_config'], unknownFieldFaults(PricingConfig, pricing)),
    ];
  });
}

/** Null for the slug or id of a known service, and when there is none. */
export function aiProviderFault(reference: string | undefined): string | null {
  if (reference === undefined || findAiProvider(reference) !== undefined) return null;
  const hint =
    didYouMean(reference, aiProviders.keys()) ?? 'see docs/reference/resources.md, Integrations';
  return `is not a known service; ${hint}`;
}

/** Returns the fields of an integration that are accepted without effect; paths start at the body. */
export function integrationWarnings(
  { configurations, models = [] }: IntegrationParts,
  service: string,
): Fault[] {
  const prices = models.flatMap(({ pricing_config: pricing }, at) =>
    prefixFaults(['models', at, 'pricing_config'], ineffectiveFields(PricingConfig, pricing)),
  );
  const fields = ineffectiveFields(configurationsOf(service), configurations);
  return [...prefixFaults(['configurations'], fields), ...prices];
}

function configurationsFaults(
  configurations: IntegrationConfigurations,
  trusted: TrustedHosts,
): Fault[] {
  const urls = addresses.flatMap((field) => {
    const url = configurations[field];
    if (url === undefined || url === null) return [];
    return faultAt(
      field,
      typeof url === 'string' ? outboundUrlFault(url, trusted) : 'must be a string',
    );
  });
  const headers = headerMapFaults(configurations.custom_headers ?? {}, 'set');
  const others = Object.entries(configurations).filter(([key]) => !knownSecrets.has(key));
  return [
    ...urls,
    ...prefixFaults(['custom_headers'], headers),
    ...others
      .filter(([key]) => key !== 'custom_headers')
      .flatMap(([key, value]) => readableFaults(key, value)),
  ];
}

/** Recursion is safe: JSON bodies are at most 64 levels deep (http/input/json.ts). */
function readableFaults(key: string, value: unknown): Fault[] {
  if (isSecretName(key) && typeof value === 'string') {
    return [{ path: [key], message: 'is a secret; send it as key or in custom_headers' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value).flatMap(([name, item]) => readableFaults(name, item));
  return prefixFaults([key], inside);
}
