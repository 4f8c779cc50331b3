/** Builds the rows of docs/reference/providers.md from the table of provider addresses. */
import { servicesInTable } from '../../../src/model/pricing/price-table.ts';
import { aiProviders } from '../../../src/model/services/ai-providers.ts';
import {
  type DialectName,
  openAiModelServices,
  providerAddresses,
} from '../../../src/model/services/provider-addresses.ts';
import { dialectFormats } from '../../../src/upstream/formats/all-dialects.ts';

/** A valid value of every account field that decides an address. */
export const sampleAccount: Readonly<Record<string, string>> = {
  azure_resource_name: 'RESOURCE',
  vertex_region: 'REGION',
  snowflake_account: 'ACCOUNT',
  databricks_workspace: 'WORKSPACE',
  workers_ai_account_id: 'ACCOUNT',
  aws_region: 'REGION',
};

const formatOf = (dialect: DialectName): string => dialectFormats[dialect];

/** The line of one service: slug, name, address, format, output limit, account fields, price table, note. */
export function providerLine(slug: string): string {
  const { dialect, baseUrl, accountAddress, families, note } = providerAddresses[slug]!;
  const address = accountAddress?.urlOf(sampleAccount) ?? baseUrl;
  const limit =
    dialect === 'anthropic' || !openAiModelServices.has(slug)
      ? 'max_tokens'
      : 'max_completion_tokens';
  const table = servicesInTable.get(slug);
  const cells = [
    `\`${slug}\``,
    aiProviders.get(slug)?.name ?? (slug === 'vllm' ? 'vLLM' : ''),
    address === null ? 'custom_host' : `\`${address}\``,
    [...new Set([dialect, ...families.map((family) => family.dialect)].map(formatOf))].join(', '),
    `\`${limit}\``,
    (accountAddress?.fields ?? []).map((field) => `\`${field}\``).join(', '),
    table === undefined ? '' : `\`${table}\``,
    note,
  ];
  return `| ${cells.join(' | ')} |`.replaceAll(/ +\|/g, ' |');
}
