/** Validates integrations beyond their schema: service, URLs, headers, and secrets in plain-text fields. */
import { didYouMean } from '../../suggest.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { isSecretName } from '../secrets/secret-names.ts';
import { aiProviders, findAiProvider } from '../services/ai-providers.ts';
import { headerMapFaults } from '../services/forward-headers.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { type Fault, faultAt, prefixFaults } from '../wire/fault.ts';
import { configurationSecrets } from './configuration-secrets.ts';
import type { IntegrationConfigurations, IntegrationCreate, ModelSetting } from './integration.ts';

/** Members of configurations that contain a URL which the gateway calls. */
const addresses = ['custom_host', 'oauth_token_endpoint'];

const knownSecrets = new Set(configurationSecrets);

type IntegrationParts = Pick<
  Partial<IntegrationCreate>,
  'ai_provider_id' | 'configurations' | 'models'
>;

/** Returns the faults of an integration; paths start at the body. No fault contains a value. */
export function integrationFaults(body: IntegrationParts, trusted: TrustedHosts): Fault[] {
  return [
    ...faultAt('ai_provider_id', aiProviderFault(body.ai_provider_id)),
    ...prefixFaults(['configurations'], configurationsFaults(body.configurations ?? {}, trusted)),
    ...prefixFaults(['models'], modelsFaults(body.models ?? [], trusted)),
  ];
}

/** Returns the faults of a list of models: duplicates and invalid configurations. */
export function modelsFaults(models: readonly ModelSetting[], trusted: TrustedHosts): Fault[] {
  const seen = new Set<string>();
  return models.flatMap(({ slug, configurations }, at) => {
    const repeated = seen.has(slug) ? [{ path: [at, 'slug'], message: 'is listed twice' }] : [];
    seen.add(slug);
    const faults = configurationsFaults(configurations ?? {}, trusted);
    return [...repeated, ...prefixFaults([at, 'configurations'], faults)];
  });
}

/** Null for the slug or id of a known service, and when there is none. */
export function aiProviderFault(reference: string | undefined): string | null {
  if (reference === undefined || findAiProvider(reference) !== undefined) return null;
  const hint =
    didYouMean(reference, aiProviders.keys()) ?? 'see docs/reference/resources.md, Integrations';
  return `is not a known service; ${hint}`;
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
