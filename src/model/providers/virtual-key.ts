/** Defines the bodies that create and update virtual keys, which combine a provider with its own account. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { type IntegrationConfigurations, IntegrationCreate } from './integration.ts';
import { ProviderCreate, ProviderUpdate } from './provider.ts';

const Word = z.string().min(1).max(255);
const deploymentsMax = 100;
const { key, secret_mappings } = IntegrationCreate.shape;

/** Account fields in the spelling of clients of virtual keys. */
const accountFields = {
  key,
  secret_mappings,
  apiVersion: described(Word.optional(), 'API version, for services that require one.'),
  resourceName: described(Word.optional(), 'Name of the Azure resource.'),
  deploymentName: described(Word.optional(), 'Name of the Azure deployment.'),
  deploymentConfig: described(
    z
      .array(
        z.strictObject({
          deploymentName: Word,
          apiVersion: Word,
          alias: described(Word.optional(), 'Model name that callers use for it.'),
          is_default: z.boolean().optional(),
        }),
      )
      .max(deploymentsMax)
      .optional(),
    'Azure deployments; the requested model selects one.',
  ),
};

const { integration_id: _, ...providerFields } = ProviderCreate.shape;

/** Body of POST /virtual-keys; `provider` is a slug or an id of model/services/ai-providers.ts. */
export const VirtualKeyCreate = z.object({
  ...providerFields,
  provider: described(z.string().min(1).max(64), 'Service of the key.', {
    examples: ['openai', 'anthropic'],
  }),
  ...accountFields,
});
export type VirtualKeyCreate = z.infer<typeof VirtualKeyCreate>;

/** Body of PUT /virtual-keys/{slug}: an absent field is unchanged, null clears it. */
export const VirtualKeyUpdate = z.object({ ...ProviderUpdate.shape, ...accountFields });
export type VirtualKeyUpdate = z.infer<typeof VirtualKeyUpdate>;

type AccountFields = Pick<
  VirtualKeyUpdate,
  'key' | 'secret_mappings' | 'apiVersion' | 'resourceName' | 'deploymentName' | 'deploymentConfig'
>;

/** Members of an integration's configurations, by the field names of virtual keys. */
const configurationNames = {
  apiVersion: 'azure_api_version',
  resourceName: 'azure_resource_name',
  deploymentName: 'azure_deployment_id',
} as const;

/** Converts the account fields to configurations of an integration; undefined if there are none. */
export function accountConfigurations(body: AccountFields): IntegrationConfigurations | undefined {
  const entries = Object.entries(configurationNames).flatMap(([field, name]) => {
    const value = body[field as keyof typeof configurationNames];
    return value === undefined ? [] : [[name, value] as [string, unknown]];
  });
  const deployments = body.deploymentConfig?.map(
    ({ deploymentName, apiVersion, alias, is_default }) => ({
      azure_deployment_name: deploymentName,
      azure_api_version: apiVersion,
      ...(alias === undefined ? {} : { alias }),
      ...(is_default === undefined ? {} : { is_default }),
    }),
  );
  if (deployments !== undefined) entries.push(['azure_deployment_config', deployments]);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
