/** Applies Azure deployments to the account and the price of a call. */
import type { TargetSettings } from '../../model/configs/config-tree.ts';
import type { AzureDeployment } from '../../model/services/azure-deployments.ts';
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

/** An Azure deployment ignores the model in the request, so the price depends on the deployment. */
export function pricedModel(
  service: string,
  account: TargetSettings['account'],
  model: string | null,
): string | null {
  return service === 'azure-openai' ? (azureDeployment(account) ?? model) : model;
}
