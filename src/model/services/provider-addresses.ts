/** Lists the providers that can be used without a custom address: base URL and dialect of each. */
import {
  type AccountAddress,
  azureOpenAiAddress,
  bedrockAddress,
  databricksAddress,
  foundryAddress,
  labelled,
  snowflakeAddress,
  vertexAddress,
} from './account-addresses.ts';

/** Credential headers, paths and members that requests to a provider have. */
export type DialectName =
  | 'openai'
  | 'anthropic'
  | 'azure-openai'
  | 'bedrock-openai'
  | 'bedrock-anthropic'
  | 'bedrock-converse'
  | 'bedrock-titan'
  | 'bedrock-cohere'
  | 'bedrock-ranking'
  | 'cohere'
  | 'voyage'
  | 'foundry-openai'
  | 'foundry-anthropic'
  | 'vertex-openai'
  | 'vertex-anthropic'
  | 'gemini'
  | 'vertex-gemini';

/** Format of the bodies that a provider receives and sends. */
export type FormatName = 'openai' | 'anthropic' | 'converse' | 'gemini';

/** Models of a service that have another dialect than the service. */
interface ModelFamily {
  readonly models: RegExp;
  readonly dialect: DialectName;
}

export interface ProviderAddress {
  readonly dialect: DialectName;
  /** The base URL that replaces `/v1` of the gateway; null where every customer has an address of their own. */
  readonly baseUrl: string | null;
  /** Where account fields decide the base URL; null where they do not. */
  readonly accountAddress: AccountAddress | null;
  readonly families: readonly ModelFamily[];
  /** How the same service receives requests in Gemini's form; absent for a service without that form. */
  readonly geminiForm?: { readonly dialect: DialectName; readonly baseUrl: string | null };
  /** Remark for callers, in docs/reference/providers.md; empty for none. */
  readonly note: string;
}

/** The name of a service, or `@` and the slug of a provider. */
export const providerNamePattern = /^@?[A-Za-z0-9][\w./-]{0,253}$/;

/** Completes "must have …". */
export const providerNameForm =
  '1 to 254 letters, digits, ".", "_", "/" or "-", beginning with a letter, a digit or "@"';

/** Default listen address of `gatewright mock-upstream`; called only where it is trusted. */
export const mockUpstreamHost = '127.0.0.1:8790';

/** The MCP server of `gatewright mock-upstream` as integrations name it, whichever port it has. */
export const mockMcpUrl = `http://${mockUpstreamHost}/mcp`;

/**
 * The address at which the server of an MCP integration is called. `mockHost` is the host and port of
 * the running mock upstream; null for the usual ones.
 */
export function calledMcpUrl(url: string, mockHost: string | null): string {
  return url === mockMcpUrl && mockHost !== null ? `http://${mockHost}/mcp` : url;
}

const openAi = (baseUrl: string | null, note = ''): ProviderAddress => ({
  dialect: 'openai',
  baseUrl,
  accountAddress: null,
  families: [],
  note,
});

const openAiAt = (accountAddress: AccountAddress, note = ''): ProviderAddress => ({
  dialect: 'openai',
  baseUrl: null,
  accountAddress,
  families: [],
  note,
});

const claude = /^(?:anthropic\/)?claude/i;

/** By slug. Services without a dialect of their own accept the `openai` format. */
export const providerAddresses: Readonly<Record<string, ProviderAddress>> = {
  openai: openAi('https://api.openai.com/v1'),
  anthropic: { ...openAi('https://api.anthropic.com/v1'), dialect: 'anthropic' },
  'azure-openai': { ...openAiAt(azureOpenAiAddress), dialect: 'azure-openai' },
  bedrock: {
    ...openAiAt(bedrockAddress, 'see [Amazon Bedrock](bedrock.md)'),
    dialect: 'bedrock-converse',
  },
  'mistral-ai': openAi('https://api.mistral.ai/v1'),
  groq: openAi('https://api.groq.com/openai/v1'),
  'together-ai': openAi('https://api.together.xyz/v1'),
  'fireworks-ai': openAi('https://api.fireworks.ai/inference/v1'),
  deepseek: openAi('https://api.deepseek.com/v1'),
  openrouter: openAi('https://openrouter.ai/api/v1'),
  'perplexity-ai': openAi('https://api.perplexity.ai', 'serves chats, no embeddings'),
  'x-ai': openAi('https://api.x.ai/v1'),
  cerebras: openAi('https://api.cerebras.ai/v1'),
  google: {
    ...openAi('https://generativelanguage.googleapis.com/v1beta/openai'),
    geminiForm: {
      dialect: 'gemini',
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    },
  },
  '302ai': openAi('https://api.302.ai/v1'),
  ai21: openAi('https://api.ai21.com/studio/v1'),
  'azure-ai': {
    ...openAiAt(foundryAddress, 'models and `azure_foundry_url` select the form'),
    dialect: 'foundry-openai',
    families: [{ models: claude, dialect: 'foundry-anthropic' }],
  },
  cohere: {
    ...openAi(
      'https://api.cohere.com',
      'chats and embeddings by its OpenAI face, rankings at `/v2/rerank`',
    ),
    dialect: 'cohere',
  },
  cortex: openAiAt(
    snowflakeAddress,
    'the key is a programmatic access token, an OAuth token or a JWT of Snowflake',
  ),
  dashscope: openAi(
    'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    'keys of mainland China: `https://dashscope.aliyuncs.com/compatible-mode/v1`',
  ),
  databricks: openAiAt(
    databricksAddress,
    'the model is the name of a serving endpoint; a host at Azure or Google Cloud is named in full',
  ),
  deepbricks: openAi('https://api.deepbricks.ai/v1'),
  deepinfra: openAi('https://api.deepinfra.com/v1/openai'),
  'featherless-ai': openAi('https://api.featherless.ai/v1'),
  github: openAi(
    'https://models.github.ai/inference',
    'models have a publisher (`openai/gpt-4.1`); lists no models',
  ),
  huggingface: openAi(
    'https://router.huggingface.co/v1',
    'a model may name its host (`openai/gpt-oss-120b:cerebras`)',
  ),
  hyperbolic: openAi('https://api.hyperbolic.xyz/v1'),
  'inference-net': openAi('https://api.inference.net/v1'),
  jina: openAi('https://api.jina.ai/v1', 'serves embeddings and rankings, no chats'),
  krutrim: openAi('https://cloud.olakrutrim.com/v1'),
  lambda: openAi('https://api.lambda.ai/v1'),
  'lemonfox-ai': openAi('https://api.lemonfox.ai/v1'),
  lingyi: openAi('https://api.lingyiwanwu.com/v1'),
  monsterapi: openAi('https://llm.monsterapi.ai/v1'),
  moonshot: openAi(
    'https://api.moonshot.ai/v1',
    'keys of mainland China: `https://api.moonshot.cn/v1`',
  ),
  ncompass: openAi('https://api.ncompass.tech/v1'),
  nebius: openAi('https://api.tokenfactory.nebius.com/v1'),
  'novita-ai': openAi('https://api.novita.ai/openai/v1'),
  nscale: openAi('https://inference.api.nscale.com/v1'),
  nvidia: openAi('https://integrate.api.nvidia.com/v1', 'NIM containers: their own address'),
  ovhcloud: openAi('https://oai.endpoints.kepler.ai.cloud.ovh.net/v1'),
  'recraft-ai': openAi('https://external.api.recraft.ai/v1', 'serves pictures, no chats'),
  'reka-ai': openAi('https://api.reka.ai/v1'),
  sambanova: openAi('https://api.sambanova.ai/v1'),
  siliconflow: openAi(
    'https://api.siliconflow.com/v1',
    'keys of mainland China: `https://api.siliconflow.cn/v1`',
  ),
  upstage: openAi('https://api.upstage.ai/v1'),
  'vertex-ai': {
    ...openAiAt(vertexAddress, '`global` by default; Claude by its own format'),
    dialect: 'vertex-openai',
    families: [{ models: claude, dialect: 'vertex-anthropic' }],
    geminiForm: { dialect: 'vertex-gemini', baseUrl: null },
  },
  voyage: {
    ...openAi(
      'https://api.voyageai.com/v1',
      'serves embeddings and rankings, no chats; `top_n` becomes `top_k`',
    ),
    dialect: 'voyage',
  },
  'workers-ai': openAiAt(
    labelled(['workers_ai_account_id'], 'https://api.cloudflare.com/client/v4/accounts/{}/ai/v1', {
      isOfCustomer: false,
    }),
    'send models as `@provider/@cf/…`',
  ),
  'z-ai': openAi('https://api.z.ai/api/paas/v4'),
  zhipu: openAi('https://open.bigmodel.cn/api/paas/v4'),
  // `gatewright mock-upstream`, which has no model.
  'mock-upstream': openAi(`http://${mockUpstreamHost}/v1`),
  ollama: openAi(null),
  vllm: openAi(null),
};

/** Services that refuse `stream_options`, so their streams report no usage unless they do so on their own. */
export const servicesWithoutStreamOptions: ReadonlySet<string> = new Set(['cohere']);

/** Services that run OpenAI's models: some reject `max_tokens`, while other services know only that name. */
export const openAiModelServices: ReadonlySet<string> = new Set([
  'openai',
  'azure-openai',
  'azure-ai',
]);

/** Name of the output limit of a chat: OpenAI's own models accept only the first, many compatible services only the second. */
export function outputLimitName(service: string): 'max_completion_tokens' | 'max_tokens' {
  return openAiModelServices.has(service) ? 'max_completion_tokens' : 'max_tokens';
}
