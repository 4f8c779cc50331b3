/** Lists the providers that can be used without a custom address: base URL and dialect of each. */

/** The wire format of a provider. */
export type DialectName = 'openai' | 'anthropic' | 'azure-openai';

export interface ProviderAddress {
  readonly dialect: DialectName;
  /** The base URL that replaces `/v1` of the gateway; null where every customer has an address of their own. */
  readonly baseUrl: string | null;
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

const openAi = (baseUrl: string | null): ProviderAddress => ({ dialect: 'openai', baseUrl });

/** By slug. Services without a dialect of their own accept the `openai` format. */
export const providerAddresses: Readonly<Record<string, ProviderAddress>> = {
  openai: openAi('https://api.openai.com/v1'),
  anthropic: { dialect: 'anthropic', baseUrl: 'https://api.anthropic.com/v1' },
  'azure-openai': { dialect: 'azure-openai', baseUrl: null },
  'mistral-ai': openAi('https://api.mistral.ai/v1'),
  groq: openAi('https://api.groq.com/openai/v1'),
  'together-ai': openAi('https://api.together.xyz/v1'),
  'fireworks-ai': openAi('https://api.fireworks.ai/inference/v1'),
  deepseek: openAi('https://api.deepseek.com/v1'),
  openrouter: openAi('https://openrouter.ai/api/v1'),
  'perplexity-ai': openAi('https://api.perplexity.ai'),
  'x-ai': openAi('https://api.x.ai/v1'),
  cerebras: openAi('https://api.cerebras.ai/v1'),
  google: openAi('https://generativelanguage.googleapis.com/v1beta/openai'),
  // `gatewright mock-upstream`, which has no model.
  'mock-upstream': openAi(`http://${mockUpstreamHost}/v1`),
  ollama: openAi(null),
  vllm: openAi(null),
};

/** Services that run OpenAI's models: some reject `max_tokens`, while other services know only that name. */
export const openAiModelServices: ReadonlySet<string> = new Set(['openai', 'azure-openai']);

/** Name of the output limit of a chat: OpenAI's own models accept only the first, many compatible services only the second. */
export function outputLimitName(service: string): 'max_completion_tokens' | 'max_tokens' {
  return openAiModelServices.has(service) ? 'max_completion_tokens' : 'max_tokens';
}
