/** Knows what the schema of an integration cannot say: its service, addresses, headers, and where no secret may stand. */
import { didYouMean } from '../../suggest.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { aiProviders, findAiProvider } from '../services/ai-providers.ts';
import { configurationSecrets } from './configuration-secrets.ts';
import { below, type Fault, faultAt } from '../wire/fault.ts';
import { headerMapFaults } from '../services/forward-headers.ts';
import type { IntegrationConfigurations, IntegrationCreate, ModelSetting } from './integration.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { isSecretName } from '../secrets/secret-names.ts';

/** Members of configurations that the gateway sends requests to. */
const addresses = ['custom_host', 'oauth_token_endpoint'];

const knownSecrets = new Set(configurationSecrets);

type Judged = Pick<Partial<IntegrationCreate>, 'ai_provider_id' | 'configurations' | 'models'>;

/** Paths start at the body; no fault shows a value. */
export function integrationFaults(body: Judged, trusted: TrustedHosts): Fault[] {
  return [
    ...faultAt('ai_provider_id', aiProviderFault(body.ai_provider_id)),
    ...below(['configurations'], configurationsFaults(body.configurations ?? {}, trusted)),
    ...below(['models'], modelsFaults(body.models ?? [], trusted)),
  ];
}

/** Each model once, and each reached as an integration may be. */
export function modelsFaults(models: readonly ModelSetting[], trusted: TrustedHosts): Fault[] {
  const seen = new Set<string>();
  return models.flatMap(({ slug, configurations }, at) => {
    const repeated = seen.has(slug) ? [{ path: [at, 'slug'], message: 'is named twice' }] : [];
    seen.add(slug);
    const faults = configurationsFaults(configurations ?? {}, trusted);
    return [...repeated, ...below([at, 'configurations'], faults)];
  });
}

/** Null for the slug or id of a service that is known, and for none. */
export function aiProviderFault(reference: string | undefined): string | null {
  if (reference === undefined || findAiProvider(reference) !== undefined) return null;
  const hint = didYouMean(reference, aiProviders.keys()) ?? 'see docs/reference/resources.md, Integrations';
  return `is no service that is known; ${hint}`;
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
      typeof url === 'string' ? outboundUrlFault(url, trusted) : 'must be a text',
    );
  });
  const headers = headerMapFaults(configurations.custom_headers ?? {}, 'set');
  const others = Object.entries(configurations).filter(([key]) => !knownSecrets.has(key));
  return [
    ...urls,
    ...below(['custom_headers'], headers),
    ...others
      .filter(([key]) => key !== 'custom_headers')
      .flatMap(([key, value]) => readableFaults(key, value)),
  ];
}

/** JSON bodies are at most 64 levels deep (http/json.ts), so this may recurse. */
function readableFaults(key: string, value: unknown): Fault[] {
  if (isSecretName(key) && typeof value === 'string') {
    return [{ path: [key], message: 'is a secret; give it as key or by custom_headers' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value).flatMap(([name, item]) => readableFaults(name, item));
  return below([key], inside);
}
