/** Builds the base URLs that account fields decide, such as those of a region or of a customer. */

/** Account fields by their names in a config. */
type AccountFields = Readonly<Record<string, string>>;

/** A base URL that account fields decide. */
export interface AccountAddress {
  /** The fields, of which the first that is set decides. */
  readonly fields: readonly string[];
  /**
   * Whether the host belongs to a customer of the service, so that a value of a secret manager is sent there only where
   * its reference lists the host.
   */
  readonly isOfCustomer: boolean;
  /** Null without valid fields. */
  readonly urlOf: (account: AccountFields) => string | null;
}

/** One label, so that a field cannot lead to another host or path. */
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
/** Labels below a fixed domain. */
const labels =
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?){0,4}$/i;
const hostCharsMax = 200;

function firstOf(account: AccountFields, fields: readonly string[]): string | undefined {
  return fields.map((field) => account[field]).find((value) => value !== undefined);
}

/** `url` contains `{}` in place of the field, which must be one label of a host or of a path. */
export function labelled(
  fields: readonly string[],
  url: string,
  { isOfCustomer = true } = {},
): AccountAddress {
  return {
    fields,
    isOfCustomer,
    urlOf: (account) => {
      const value = firstOf(account, fields);
      return value !== undefined && label.test(value) ? url.replace('{}', value) : null;
    },
  };
}

export const azureOpenAiAddress = labelled(
  ['azure_resource_name', 'resource_name'],
  'https://{}.openai.azure.com/openai',
);

/** The region of Bedrock; null without a valid one. */
export function bedrockRegion({ aws_region: region = '' }: AccountFields): string | null {
  return label.test(region) ? region : null;
}

const bedrockAt = (host: string): AccountAddress => ({
  fields: ['aws_region'],
  isOfCustomer: false,
  urlOf: (account) => {
    const region = bedrockRegion(account);
    if (region === null) return null;
    const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
    return `https://${host}.${region}.${domain}`;
  },
});

export const bedrockAddress = bedrockAt('bedrock-runtime');
/** Lists models. */
export const bedrockControlAddress = bedrockAt('bedrock');

/** Snowflake writes `_` of an account as `-` in its host. */
export const snowflakeAddress: AccountAddress = {
  fields: ['snowflake_account'],
  isOfCustomer: true,
  urlOf: ({ snowflake_account: account = '' }) => {
    const name = account.replaceAll('_', '-');
    const isName = name.length <= hostCharsMax && labels.test(name);
    return isName ? `https://${name}.snowflakecomputing.com/api/v2/cortex/v1` : null;
  },
};

const databricksDomains = ['cloud.databricks.com', 'azuredatabricks.net', 'gcp.databricks.com'];

/** A workspace is a host below a domain of Databricks, or the first label of one at AWS. */
export const databricksAddress: AccountAddress = {
  fields: ['databricks_workspace'],
  isOfCustomer: true,
  urlOf: ({ databricks_workspace: workspace = '' }) => {
    const host = workspace.replace(/^https:\/\//, '').replace(/\/$/, '');
    if (host.length > hostCharsMax || !labels.test(host)) return null;
    if (!host.includes('.')) return `https://${host}.cloud.databricks.com/serving-endpoints`;
    const isKnown = databricksDomains.some((domain) => host.endsWith(`.${domain}`));
    return isKnown ? `https://${host}/serving-endpoints` : null;
  },
};

/** Ends of an address in the portal of Azure, which the wire format adds again. */
const foundryEnds = /\/+(?:models|openai(?:\/v1)?|anthropic(?:\/v1)?(?:\/messages)?)?\/*$/;

/** Outbound URLs are checked when they are saved and when they are called. */
function isUrl(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

/** Root of a resource of Azure AI Foundry: an address, or the name of the resource. */
export const foundryAddress: AccountAddress = {
  fields: ['azure_foundry_url', 'azure_resource_name'],
  isOfCustomer: true,
  urlOf: ({ azure_foundry_url: url, azure_resource_name: resource }) => {
    if (url !== undefined) return isUrl(url) ? url.replace(foundryEnds, '') : null;
    const isLabel = resource !== undefined && label.test(resource);
    return isLabel ? `https://${resource}.services.ai.azure.com` : null;
  },
};

const multiRegions = ['us', 'eu'];

/** Host of Vertex AI in a region; `global` and multi-regions have names of their own. */
export const vertexAddress: AccountAddress = {
  fields: ['vertex_region'],
  isOfCustomer: false,
  urlOf: ({ vertex_region: region = 'global' }) => {
    if (!label.test(region)) return null;
    if (region === 'global') return 'https://aiplatform.googleapis.com/v1';
    if (multiRegions.includes(region)) {
      return `https://aiplatform.${region}.rep.googleapis.com/v1`;
    }
    return `https://${region}-aiplatform.googleapis.com/v1`;
  },
};
