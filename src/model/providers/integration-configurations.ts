/** Defines the configurations of an integration by service: fields with an effect, and those without. */
import { z } from 'zod';
import { accountFieldsOf, effectiveAccountFields } from '../services/account-fields.ts';
import { foreignAccountFields } from '../services/foreign-fields.ts';
import { providerAddresses } from '../services/provider-addresses.ts';
import { acceptWithoutEffect } from '../wire/unknown-fields.ts';
import { IntegrationConfigurations } from './integration.ts';

const AzureDeployments = z.array(
  z.looseObject({
    azure_deployment_name: z.unknown(),
    azure_api_version: z.unknown().optional(),
    alias: z.unknown().optional(),
    azure_model_slug: z.unknown().optional(),
    is_default: z.unknown().optional(),
  }),
);

const schemas = new Map<string, z.ZodObject>();

/**
 * Returns the schema of the configurations of one service. It defines names only; types and values are
 * those of {@link IntegrationConfigurations}.
 */
export function configurationsOf(service: string): z.ZodObject {
  const known = schemas.get(service);
  if (known !== undefined) return known;
  const { dialect } = providerAddresses[service] ?? { dialect: 'openai' as const };
  const used = new Set<string>([
    ...Object.keys(IntegrationConfigurations.shape),
    ...accountFieldsOf(service, dialect),
  ]);
  const shape: z.core.$ZodLooseShape = Object.fromEntries(
    [...used].map((name) => [name, z.unknown().optional()]),
  );
  if (dialect === 'azure-openai') shape.azure_deployment_config = AzureDeployments.optional();
  // A field of another service is no misspelling.
  const others = [...effectiveAccountFields, ...Object.values(foreignAccountFields).flat()];
  const foreign = others.filter((name) => !used.has(name));
  const schema = acceptWithoutEffect(z.looseObject(shape), foreign);
  schemas.set(service, schema);
  return schema;
}
