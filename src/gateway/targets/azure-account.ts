/** Applies Azure deployments to the account and the price of a call. */
import type { TargetSettings } from '../../model/configs/config-tree.ts';
import type { AzureDeployment } from '../../model/services/azure-deployments.ts';
import { foundryDeployment } from '../../upstream/dialects/azure-foundry.ts';
import { azureDeployment } from '../../upstream/dialects/azure-openai.ts';

/** Applies the settings of an Azure deployment to the account. */
export function deployedAccount(
  account: TargetSettings['account'],
  deployment: AzureDeployment | undefined,
): TargetSettings['account'] {
  if (deployment === undefined) return account;
  const { azure_deployment_name: azure_deployment_id, azure_api_version } = deployment;
  return {
    ...account,
    azure_deployment_id,
    ...(azure_api_version === undefined ? {} : { azure_api_version }),
  };
}

/**
 * The model by whose name a call is priced. A deployment at Azure ignores the model in the request, and the publisher of a
 * model (`google/`, `anthropic/`) at Vertex and Foundry is not in the price table.
 */
export function pricedModel(
  service: string,
  account: TargetSettings['account'],
  model: string | null,
): string | null {
  if (service === 'azure-openai') return azureDeployment(account) ?? model;
  if (service === 'azure-ai') return bareName(foundryDeployment(account) ?? model);
  if (service === 'vertex-ai') return bareName(model);
  return model;
}

function bareName(model: string | null): string | null {
  return model === null ? null : model.slice(model.lastIndexOf('/') + 1);
}
