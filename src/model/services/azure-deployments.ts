/** Parses the Azure deployments in an integration's configurations and selects the one for a model. */
import { z } from 'zod';

const Text = z.string().min(1);

/** An item of `azure_deployment_config` in the configurations of an integration. */
const AzureDeployment = z.object({
  azure_deployment_name: Text,
  azure_api_version: Text.optional(),
  /** Model name that callers use for it. */
  alias: Text.optional(),
  /** Model that the deployment serves. */
  azure_model_slug: Text.optional(),
  is_default: z.boolean().optional(),
});
export type AzureDeployment = z.infer<typeof AzureDeployment>;

/** Returns the well-formed deployments; malformed items stay in the configurations but are never used. */
export function readAzureDeployments(configurations: Readonly<Record<string, unknown>>) {
  const { azure_deployment_config: list } = configurations;
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => AzureDeployment.safeParse(item).data ?? []);
}

/** Selects by alias, then by model, then by deployment name, else the default. Undefined when none applies. */
export function azureDeploymentOf(
  deployments: readonly AzureDeployment[],
  model: string | null,
): AzureDeployment | undefined {
  if (deployments.length === 0) return undefined;
  const names = ['alias', 'azure_model_slug', 'azure_deployment_name'] as const;
  for (const name of names) {
    const match = deployments.find((one) => one[name] !== undefined && one[name] === model);
    if (match !== undefined) return match;
  }
  return deployments.find((one) => one.is_default === true);
}
