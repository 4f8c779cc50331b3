/** Lists the AI services that integrations can use, with their slugs, ids and well-known models. */
import { v5 } from 'uuid';

/** A service at which an integration holds an account. */
export interface AiProvider {
  readonly slug: string;
  readonly name: string;
  /** The same in every deployment, for clients that address services by id. */
  readonly id: string;
  /** Models that an integration lists by default; other models work as well. */
  readonly models: readonly string[];
}

/** UUID namespace of the ids. */
const namespace = '6f3c1d8e-9b1a-5d0c-8f57-3f2f3a0f6c11';

const openAi = [
  'gpt-4o',
  'gpt-4o-mini',
  'gpt-4.1',
  'gpt-4.1-mini',
  'gpt-4.1-nano',
  'gpt-5',
  'gpt-5-mini',
  'gpt-5-nano',
  'o3',
  'o4-mini',
  'text-embedding-3-large',
  'text-embedding-3-small',
];
const claude = [
  'claude-opus-4-1',
  'claude-sonnet-4-5',
  'claude-haiku-4-5',
  'claude-3-7-sonnet-latest',
];
const gemini = ['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-2.5-flash-lite', 'gemini-2.0-flash'];

/** Names by slug, and the models of services that use the common model names. */
const services: Readonly<Record<string, readonly [name: string, models?: readonly string[]]>> = {
  openai: ['OpenAI', openAi],
  anthropic: ['Anthropic', claude],
  'azure-openai': ['Azure OpenAI', openAi],
  'azure-ai': ['Azure AI Foundry'],
  bedrock: ['AWS Bedrock'],
  'vertex-ai': ['Google Vertex AI', gemini],
  google: ['Google Gemini', gemini],
  sagemaker: ['AWS SageMaker'],
  'mistral-ai': [
    'Mistral AI',
    ['mistral-large-latest', 'mistral-small-latest', 'codestral-latest'],
  ],
  cohere: ['Cohere', ['command-a-03-2025', 'command-r-plus-08-2024', 'command-r-08-2024']],
  deepseek: ['DeepSeek', ['deepseek-chat', 'deepseek-reasoner']],
  'x-ai': ['xAI', ['grok-4', 'grok-3', 'grok-3-mini']],
  'perplexity-ai': ['Perplexity AI', ['sonar', 'sonar-pro', 'sonar-reasoning-pro']],
  groq: ['Groq', ['llama-3.3-70b-versatile', 'llama-3.1-8b-instant']],
  '302ai': ['302.AI'],
  ai21: ['AI21 Labs'],
  anyscale: ['Anyscale'],
  cerebras: ['Cerebras'],
  cortex: ['Snowflake Cortex'],
  dashscope: ['Alibaba DashScope'],
  databricks: ['Databricks'],
  deepbricks: ['Deepbricks'],
  deepinfra: ['DeepInfra'],
  'featherless-ai': ['Featherless AI'],
  'fireworks-ai': ['Fireworks AI'],
  github: ['GitHub Models'],
  huggingface: ['Hugging Face'],
  hyperbolic: ['Hyperbolic'],
  'inference-net': ['Inference.net'],
  jina: ['Jina AI'],
  krutrim: ['Krutrim'],
  lambda: ['Lambda'],
  'lemonfox-ai': ['Lemonfox AI'],
  lepton: ['Lepton AI'],
  lingyi: ['01.AI'],
  meshy: ['Meshy'],
  milvus: ['Milvus'],
  'mock-upstream': ['Mock upstream of gatewright', ['mock-echo']],
  modal: ['Modal'],
  monsterapi: ['Monster API'],
  moonshot: ['Moonshot AI'],
  ncompass: ['nCompass'],
  nebius: ['Nebius'],
  nomic: ['Nomic'],
  'novita-ai': ['Novita AI'],
  nscale: ['nScale'],
  nvidia: ['NVIDIA NIM'],
  ollama: ['Ollama'],
  openrouter: ['OpenRouter'],
  oracle: ['Oracle Generative AI'],
  ovhcloud: ['OVHcloud'],
  palm: ['Google PaLM'],
  predibase: ['Predibase'],
  qdrant: ['Qdrant'],
  'recraft-ai': ['Recraft AI'],
  'reka-ai': ['Reka AI'],
  replicate: ['Replicate'],
  sambanova: ['SambaNova'],
  segmind: ['Segmind'],
  siliconflow: ['SiliconFlow'],
  'stability-ai': ['Stability AI'],
  'together-ai': ['Together AI'],
  triton: ['NVIDIA Triton'],
  tripo3d: ['Tripo3D'],
  upstage: ['Upstage'],
  voyage: ['Voyage AI'],
  'workers-ai': ['Cloudflare Workers AI'],
  'z-ai': ['Z.ai'],
  zhipu: ['Zhipu AI'],
};

/** All services by slug. */
export const aiProviders: ReadonlyMap<string, AiProvider> = new Map(
  Object.entries(services).map(([slug, [name, models = []]]) => [
    slug,
    { slug, name, id: v5(slug, namespace), models },
  ]),
);

const byAnyName = new Map(
  [...aiProviders.values()].flatMap((provider) => [
    [provider.id, provider],
    [folded(provider.slug), provider],
  ]),
);

/** Finds a service by id or slug; clients write `openai` and `open-ai` for one service. */
export function findAiProvider(reference: string): AiProvider | undefined {
  return byAnyName.get(reference.toLowerCase()) ?? byAnyName.get(folded(reference));
}

function folded(slug: string): string {
  return slug.toLowerCase().replaceAll(/[-_]/g, '');
}
