/** Knows the model providers that can be named without an address: where each answers, and in which format. */

/** A wire format: how a request to a provider looks. */
export type DialectName = 'openai' | 'anthropic' | 'azure-openai';

export interface ProviderAddress {
  readonly dialect: DialectName;
  /** What `/v1` of the gateway stands for; null where every customer has an own address. */
  readonly baseUrl: string | null;
}

/** Where `gatewright mock-upstream` listens unless it is told otherwise; called where it is trusted only. */
export const mockUpstreamHost = '127.0.0.1:8790';

const openAi = (baseUrl: string | null): ProviderAddress => ({ dialect: 'openai', baseUrl });

/** By name. Those that are not `openai` themselves speak its format. */
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
  // `gatewright mock-upstream`, which has no model behind it.
  'mock-upstream': openAi(`http://${mockUpstreamHost}/v1`),
  ollama: openAi(null),
  vllm: openAi(null),
};

/** Services whose models are OpenAI's own: some refuse `max_tokens`, and others do not know the name that came after it. */
export const openAiModelServices: ReadonlySet<string> = new Set(['openai', 'azure-openai']);
