/** Defines the wire formats of Amazon Bedrock: OpenAI's chat, messages by InvokeModel, and Converse. */
import { bedrockModelPath, conversePath } from '../../model/services/bedrock-models.ts';
import { type Dialect, type DialectRequest, NotServed, splitQuery } from './dialect.ts';

/** The version of messages that Bedrock accepts. */
const messagesVersion = 'bedrock-2023-05-31';

/** Betas of Anthropic that Bedrock accepts; it refuses requests with others. */
const betas: ReadonlySet<string> = new Set([
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
]);

const bedrock = {
  credentialHeaders: (credential) => ({ authorization: `Bearer ${credential}` }),
  accountHeaders: () => ({}),
  passedHeaders: [
    'x-amzn-bedrock-guardrailidentifier',
    'x-amzn-bedrock-guardrailversion',
    'x-amzn-bedrock-trace',
    'x-amzn-bedrock-performanceconfig-latency',
    'x-amzn-bedrock-service-tier',
  ],
  usualHeaders: {},
} satisfies Partial<Dialect>;

export const bedrockOpenAi: Dialect = {
  ...bedrock,
  pathOf: ({ path }) => `/openai/v1${path}`,
};

/** The model and the kind of the response are in the path, betas in the body. */
export const bedrockAnthropic: Dialect = {
  ...bedrock,
  pathOf: (request) => operationOf(request, '/messages', 'invoke', 'invoke-with-response-stream'),
  changesOf: (request) =>
    new Map<string, unknown>([
      ['model', undefined],
      ['stream', undefined],
      ['service_tier', undefined],
      ['anthropic_version', messagesVersion],
      ['anthropic_beta', betasOf(request)],
    ]),
};

/** The members of Converse are those of its body, besides the model and the kind of the response. */
export const bedrockConverse: Dialect = {
  ...bedrock,
  pathOf: (request) =>
    // The lists of models are behind it.
    request.path === '/models'
      ? ''
      : operationOf(request, conversePath, 'converse', 'converse-stream'),
  changesOf: () =>
    new Map([
      ['model', undefined],
      ['stream', undefined],
    ]),
};

/** Embeddings and rankings, whose bodies are those of the vendor of the model. */
export const bedrockVendorForm: Dialect = {
  ...bedrock,
  pathOf: ({ model }) => bedrockModelPath(model ?? '', 'invoke'),
  changesOf: () => new Map([['model', undefined]]),
};

function operationOf(
  { path, model, params }: DialectRequest,
  served: string,
  whole: string,
  streamed: string,
): string {
  const [plain] = splitQuery(path);
  if (plain !== served) {
    throw new NotServed(
      `Bedrock serves this model by ${whole}, which has no counterpart of ${plain}`,
    );
  }
  if (model === null) throw new NotServed('Bedrock needs a model', 'model');
  return bedrockModelPath(model, params.stream === true ? streamed : whole);
}

/** Undefined for none. */
function betasOf({ account, headers, params }: DialectRequest): readonly string[] | undefined {
  const { anthropic_beta: own } = params;
  if (Array.isArray(own)) return own;
  const texts = [account.anthropic_beta, headers?.['anthropic-beta']].flat();
  const names = texts.flatMap((text) => text?.split(',') ?? []).map((name) => name.trim());
  const known = [...new Set(names)].filter((name) => betas.has(name));
  return known.length === 0 ? undefined : known;
}
