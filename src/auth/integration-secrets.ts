/** Knows where the secrets of an integration are kept: its key, those of its configurations, headers of its models. */
import { configurationSecrets } from '../model/configuration-secrets.ts';
import type { SecretPlaces } from './secret-values.ts';

/** What the key of an integration is sealed to. */
export function keyContext(integrationId: string): string {
  return `integrations|${integrationId}|key`;
}

export function configurationPlaces(integrationId: string): SecretPlaces {
  return {
    context: `integrations|${integrationId}|configurations`,
    secrets: configurationSecrets,
  };
}

/** Those of the configurations of one model. */
export function modelPlaces(integrationId: string, modelSlug: string): SecretPlaces {
  return {
    context: `integrations|${integrationId}|models.${encodeURIComponent(modelSlug)}`,
    secrets: ['custom_headers.*'],
  };
}
