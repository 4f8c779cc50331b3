/** Knows the deployments that an account at Azure has: how a list of them is written, and which one answers for a model. */
import { z } from 'zod';

const Text = z.string().min(1);

/** One of `azure_deployment_config` of the configurations of an integration. */
const AzureDeployment = z.object({
  azure_deployment_name: Text,
  azure_api_version: Text.optional(),
  /** By which callers ask for it. */
  alias: Text.optional(),
  /** That it answers with. */
  azure_model_slug: Text.optional(),
  is_default: z.boolean().optional(),
});
export type AzureDeployment = z.infer<typeof AzureDeployment>;

/** What is none of that form is kept with the integration, and leads nowhere. */
export function readAzureDeployments(configurations: Readonly<Record<string, unknown>>) {
  const { azure_deployment_config: list } = configurations;
  if (!Array.isArray(list)) return [];
  return list.flatMap((one) => AzureDeployment.safeParse(one).data ?? []);
}

/** The one that is called so, else the one that has the model, else the default; undefined for none of them. */
export function azureDeploymentOf(
  deployments: readonly AzureDeployment[],
  model: string | null,
): AzureDeployment | undefined {
  if (deployments.length === 0) return undefined;
  const names = ['alias', 'azure_model_slug', 'azure_deployment_name'] as const;
  for (const name of names) {
    const found = deployments.find((one) => one[name] !== undefined && one[name] === model);
    if (found !== undefined) return found;
  }
  return deployments.find((one) => one.is_default === true);
}
