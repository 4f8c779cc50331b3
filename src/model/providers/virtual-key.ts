/** Knows the bodies by which virtual keys (a provider with an account of its own, in one) are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { type IntegrationConfigurations, IntegrationCreate } from './integration.ts';
import { ProviderCreate, ProviderUpdate } from './provider.ts';

const Word = z.string().min(1).max(255);
const deploymentsMax = 100;
const { key, secret_mappings } = IntegrationCreate.shape;

/** Names of a service that asks for more than a key, as clients of virtual keys spell them. */
const accountFields = {
  key,
  secret_mappings,
  apiVersion: described(Word.optional(), 'Version of the API, of services that ask for one.'),
  resourceName: described(Word.optional(), 'Name of the resource at Azure.'),
  deploymentName: described(Word.optional(), 'Name of the deployment at Azure.'),
  deploymentConfig: described(
    z
      .array(
        z.strictObject({
          deploymentName: Word,
          apiVersion: Word,
          alias: described(Word.optional(), 'Model by which callers ask for it.'),
          is_default: z.boolean().optional(),
        }),
      )
      .max(deploymentsMax)
      .optional(),
    'Deployments at Azure, of which the model that is asked for chooses one.',
  ),
};

const { integration_id: _, ...providerFields } = ProviderCreate.shape;

/** Body of POST /virtual-keys; `provider` is a slug or an id of model/ai-providers.ts. */
export const VirtualKeyCreate = z.object({
  ...providerFields,
  provider: described(z.string().min(1).max(64), 'Service that the key is for.', {
    examples: ['openai', 'anthropic'],
  }),
  ...accountFields,
});
export type VirtualKeyCreate = z.infer<typeof VirtualKeyCreate>;

/** Body of PUT /virtual-keys/{slug}: absent fields stay, null clears. */
export const VirtualKeyUpdate = z.object({ ...ProviderUpdate.shape, ...accountFields });
export type VirtualKeyUpdate = z.infer<typeof VirtualKeyUpdate>;

type AccountFields = Pick<
  VirtualKeyUpdate,
  'key' | 'secret_mappings' | 'apiVersion' | 'resourceName' | 'deploymentName' | 'deploymentConfig'
>;

/** Members of the configurations of an integration, by the names of virtual keys. */
const configurationNames = {
  apiVersion: 'azure_api_version',
  resourceName: 'azure_resource_name',
  deploymentName: 'azure_deployment_id',
} as const;

/** What a body says of the account; undefined where it says nothing. */
export function configurationsOf(body: AccountFields): IntegrationConfigurations | undefined {
  const given = Object.entries(configurationNames).flatMap(([field, name]) => {
    const value = body[field as keyof typeof configurationNames];
    return value === undefined ? [] : [[name, value] as [string, unknown]];
  });
  const deployments = body.deploymentConfig?.map(
    ({ deploymentName, apiVersion, alias, is_default }) => ({
      ...{ azure_deployment_name: deploymentName, azure_api_version: apiVersion },
      ...(alias === undefined ? {} : { alias }),
      ...(is_default === undefined ? {} : { is_default }),
    }),
  );
  if (deployments !== undefined) given.push(['azure_deployment_config', deployments]);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}
