/** Defines how the usage of each kind of model request is bounded before it is sent. */

/** The members of a request that determine how many tokens it may use. */
export interface Metering {
  /** Members that limit the output, `a.b` for one inside an object. */
  readonly maxNames: readonly string[];
  /** Members that multiply the output. */
  readonly countNames: readonly string[];
  /**
   * How the output is bounded: not at all by the request (`members`, the limits above are added), to nothing, by the
   * length of the text to speak, or by a constant for each copy.
   */
  readonly output: 'members' | 'none' | 'speech' | number;
  /** Bound of the input where the size of the body says nothing; null where it does. */
  readonly inputTokens: number | null;
  /** Whether the provider adds input that it stores, such as earlier messages. */
  readonly readsStored: boolean;
}

function bounded(maxNames: readonly string[], more: Partial<Metering> = {}): Metering {
  return {
    maxNames,
    countNames: [],
    output: maxNames.length > 0 ? 'members' : 'none',
    inputTokens: null,
    readsStored: false,
    ...more,
  };
}

/** Largest output of an image model: a picture of high quality with its previews. */
const pictureTokens = 8_192;
/** Largest input and output of models that transcribe speech. */
const transcriptInputTokens = 32_768;
const transcriptTokens = 8_192;

export const meterings = {
  chat_completions: bounded(['max_tokens', 'max_completion_tokens'], {
    countNames: ['n', 'best_of'],
  }),
  completions: bounded(['max_tokens'], { countNames: ['n', 'best_of'] }),
  messages: bounded(['max_tokens']),
  converse: bounded(['inferenceConfig.maxTokens']),
  responses: bounded(['max_output_tokens']),
  gemini: bounded(['generationConfig.maxOutputTokens'], {
    countNames: ['generationConfig.candidateCount'],
  }),
  interactions: bounded(['generation_config.max_output_tokens']),
  runs: bounded(['max_completion_tokens']),
  /** Each response of a session; its input is the conversation. */
  realtime: bounded(['max_output_tokens', 'max_response_output_tokens']),
  /** The same for Gemini's live API, where the setup bounds every response. */
  live: bounded(['generationConfig.maxOutputTokens']),
  /** Reads no more than the request contains and writes no text: embeddings, rankings, classifications. */
  input: bounded([]),
  compact: bounded([]),
  agent_completions: bounded(['max_tokens'], { countNames: ['n'], readsStored: true }),
  conversations: bounded(['completion_args.max_tokens'], { readsStored: true }),
  async_chats: bounded(['request.max_tokens'], { countNames: ['request.n'] }),
  anthropic_completions: bounded(['max_tokens_to_sample']),
  images: bounded([], {
    countNames: ['n', 'num_images', 'num_outputs', 'batch_size', 'sample_count'],
    output: pictureTokens,
  }),
  speech: bounded([], { output: 'speech' }),
  transcriptions: bounded([], { output: transcriptTokens, inputTokens: transcriptInputTokens }),
} as const satisfies Readonly<Record<string, Metering>>;

/**
 * `nothing`: the request calls no model, and usage in its response belongs to another request. `unbounded`: its usage
 * cannot be bounded before it is sent, so limits of tokens and cost refuse it. `batches`: the sum of the
 * requests of a batch, which are read before it is created.
 */
export type MeteringName = keyof typeof meterings | 'nothing' | 'unbounded' | 'batches';

/** Top-level members that decide the usage of some request. */
export const meteredMembers: ReadonlySet<string> = new Set(
  Object.values(meterings).flatMap(({ maxNames, countNames }) =>
    [...maxNames, ...countNames].map((name: string) => name.split('.')[0]!),
  ),
);
