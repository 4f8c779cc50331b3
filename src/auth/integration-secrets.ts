/** Locates the secrets of an integration: its key, its configurations, the headers of its models. */
import { configurationSecrets } from '../model/providers/configuration-secrets.ts';
import type { SecretLocations } from './secret-values.ts';

/** Context to which the key of an integration is sealed. */
export function keyContext(integrationId: string): string {
  return `integrations|${integrationId}|key`;
}

export function configurationSecretLocations(integrationId: string): SecretLocations {
  return {
    context: `integrations|${integrationId}|configurations`,
    secrets: configurationSecrets,
  };
}

/** Secrets in the configuration of one model. */
export function modelSecretLocations(integrationId: string, modelSlug: string): SecretLocations {
  return {
    context: `integrations|${integrationId}|models.${encodeURIComponent(modelSlug)}`,
    secrets: ['custom_headers.*'],
  };
}
