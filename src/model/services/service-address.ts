/** Selects the address of a service: the one that an account sets, else the usual one. */
import { bedrockControlAddress } from './account-addresses.ts';
import { bedrockDialect, bedrockRetrieval, conversePath } from './bedrock-models.ts';
import { type DialectName, type ProviderAddress, providerAddresses } from './provider-addresses.ts';
import { cohereEmbedPath, embeddingInvokePath, predictPath } from './retrieval-paths.ts';

/** The members of an account that decide its address. */
export interface AddressMembers {
  /** Replaces every other address. */
  readonly customHost: string | null;
  /** Account fields by their names in a config. */
  readonly account: Readonly<Record<string, string>>;
}

/** Services without a known address use OpenAI's format. */
export function usualAddress(service: string): ProviderAddress {
  const address = Object.hasOwn(providerAddresses, service)
    ? providerAddresses[service]
    : undefined;
  return address ?? unknownService;
}

const unknownService: ProviderAddress = {
  dialect: 'openai',
  baseUrl: null,
  accountAddress: null,
  families: [],
  note: '',
};

/** Account field that selects the format in which chats, messages and responses are sent to Google. */
const formatField = 'google_api_format';
const generatingPaths: ReadonlySet<string> = new Set([
  '/chat/completions',
  '/messages',
  '/responses',
]);
/** Embeddings that Vertex AI receives in its own form. */
const embeddingPaths: ReadonlySet<string> = new Set([
  '/embeddings',
  embeddingInvokePath,
  cohereEmbedPath,
]);

/**
 * The address at which a request is sent: a service with two formats receives requests in Gemini's form in that form,
 * and others in OpenAI's, unless the account selects Gemini's for them. `path` is canonical.
 */
export function calledAddress(
  usual: ProviderAddress,
  path: string,
  account: AddressMembers['account'],
): ProviderAddress {
  if (usual.dialect === 'bedrock-converse' && path === '/models') {
    return { ...usual, accountAddress: bedrockControlAddress };
  }
  const { geminiForm } = usual;
  if (geminiForm === undefined) return usual;
  const isVertex = geminiForm.dialect === 'vertex-gemini';
  // Google's API for developers embeds texts by its face for clients of OpenAI.
  if (path === predictPath && !isVertex) return usual;
  const isSelected =
    (account[formatField] === 'gemini' && generatingPaths.has(path)) ||
    (isVertex && embeddingPaths.has(path));
  if (!isSelected && !path.startsWith('/v1beta/')) return usual;
  return { ...usual, ...geminiForm };
}

/** Null when the service has no address of its own and none is configured. */
export function addressIn(
  { customHost, account }: AddressMembers,
  usual: ProviderAddress,
): string | null {
  const { accountAddress, baseUrl, dialect } = usual;
  if (customHost !== null) {
    // A proxy of both formats is named by its address for OpenAI's.
    return dialect === 'gemini' ? customHost.replace(/\/openai\/?$/, '') : customHost;
  }
  return accountAddress === null ? baseUrl : accountAddress.urlOf(account);
}

/** Whether requests go to a host that belongs to the service itself. */
export function isOwnHost(
  { customHost }: Pick<AddressMembers, 'customHost'>,
  { accountAddress }: ProviderAddress,
): boolean {
  return customHost === null && accountAddress?.isOfCustomer !== true;
}

/** The account field that selects the host of a customer; undefined for none. */
export function customerField(
  account: AddressMembers['account'],
  { accountAddress }: ProviderAddress,
): string | undefined {
  if (accountAddress?.isOfCustomer !== true) return undefined;
  return accountAddress.fields.find((name) => account[name] !== undefined);
}

/** The dialect of requests for a model; `path` is canonical. Bedrock serves every model by Converse to callers of it. */
export function dialectOf(
  { dialect, families }: ProviderAddress,
  account: AddressMembers['account'],
  model: string | null,
  path: string | null = null,
): DialectName {
  if (dialect === 'bedrock-converse') {
    if (path === conversePath) return dialect;
    return bedrockRetrieval(path, model) ?? bedrockDialect(model, account.aws_bedrock_format);
  }
  if (dialect === 'foundry-openai' && /\/anthropic\b/.test(account.azure_foundry_url ?? '')) {
    return 'foundry-anthropic';
  }
  if (model === null || families.length === 0) return dialect;
  return families.find(({ models }) => models.test(model))?.dialect ?? dialect;
}
