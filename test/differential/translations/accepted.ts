/** Lists where gatewright and LiteLLM translate differently, with the reason that the provider's documentation gives. */
import type { CallerName, ProviderName } from './conversation.ts';

export type Part = 'request' | 'whole' | 'stream';

export interface AcceptedDifference {
  readonly why: string;
  readonly parts: readonly Part[];
  /** Every caller by default. */
  readonly from?: readonly CallerName[];
  /** Every provider by default. */
  readonly to?: readonly ProviderName[];
  /** Paths of the differing members. */
  readonly paths: RegExp;
  /** Matches the refusal or fault of LiteLLM, where `paths` names one. */
  readonly theirs?: RegExp;
  /** Names of conversations; every one by default. */
  readonly cases?: RegExp;
}

const answers = ['whole', 'stream'] as const;

/** Settings that one of them writes out although they are the usual ones. */
const usualSettings: readonly AcceptedDifference[] = [
  {
    why: 'The type `custom` of a tool is the usual one at Anthropic',
    parts: ['request'],
    to: ['anthropic'],
    paths: /^tools\[\]\.type$/,
  },
  {
    why: 'The model chooses among tools where no choice is stated',
    parts: ['request'],
    from: ['gemini'],
    paths: /^tool_choice$/,
    cases: /^a choice by the model$/,
  },
  {
    why: 'As above; Converse names it `auto`',
    parts: ['request'],
    to: ['converse'],
    paths: /^toolConfig\.toolChoice$/,
    cases: /^(?:a choice by the model|one call at a time|recorded: opencode|generated \d+)$/,
  },
  {
    why: 'An object without members says nothing',
    parts: ['request'],
    to: ['converse'],
    paths: /^inferenceConfig$/,
    cases: /^no limit of the output$/,
  },
  {
    why: 'A tool without a description has none at Bedrock: LiteLLM repeats its name',
    parts: ['request'],
    to: ['converse'],
    paths: /^toolConfig\.tools\[\]\.toolSpec\.description$/,
  },
  {
    why: 'Gemini reads a picture without a text beside it: LiteLLM adds a blank',
    parts: ['request'],
    to: ['gemini'],
    paths: /^contents\[\]\.parts\[\]$/,
    cases: /^a picture alone$/,
  },
  {
    why: 'Names that the caller has not given: of the schema, of a file, of a document',
    parts: ['request'],
    paths:
      /^(?:response_format\.json_schema\.name|messages\[\]\.content\[\]\.(?:file\.filename|document\.name))$/,
  },
];

const schemas: readonly AcceptedDifference[] = [
  {
    why: 'Gemini has `parametersJsonSchema` for JSON schemas; `parameters` is a subset of OpenAPI that LiteLLM reduces them to',
    parts: ['request'],
    to: ['gemini'],
    paths: /^tools\[\]\.functionDeclarations\[\]\.parameters(?:JsonSchema)?$/,
  },
  {
    why: 'Bedrock takes any JSON schema: LiteLLM resolves references, adds `required` and removes the rest',
    parts: ['request'],
    to: ['converse'],
    paths:
      /^toolConfig\.tools\[\]\.toolSpec\.inputSchema\.json\.(?:\$defs|\$schema|additionalProperties|required|properties\.node\.(?:\$ref|properties|type))$/,
  },
  {
    why: 'Anthropic takes any JSON schema of a tool: LiteLLM removes the name of the draft',
    parts: ['request'],
    to: ['anthropic'],
    paths: /^tools\[\]\.input_schema\.\$schema$/,
  },
  {
    why: "`nullable` of Gemini's schemas is the type `null` in JSON schemas",
    parts: ['request'],
    from: ['gemini'],
    paths: /\.properties\.city\.(?:nullable|type)$/,
    cases: /^a tool in types of Google$/,
  },
  {
    why: '`strict` of a function exists at Anthropic and Bedrock: LiteLLM leaves it out',
    parts: ['request'],
    to: ['anthropic', 'converse'],
    paths: /^(?:tools\[\]|toolConfig\.tools\[\]\.toolSpec)\.strict$/,
    cases: /^a tool that is strict$/,
  },
  {
    why: '`output_config.format` replaces `output_format`, which Anthropic has deprecated',
    parts: ['request'],
    to: ['anthropic'],
    paths: /^output_(?:config|format)$/,
  },
  {
    why: 'Bedrock has `outputConfig.textFormat` for schemas: LiteLLM has a forced tool, whose call it turns into the text',
    parts: ['request'],
    to: ['converse'],
    paths: /^(?:outputConfig|toolConfig(?:\.toolChoice|\.tools\[\](?:\.toolSpec\..+)?)?)$/,
    cases: /^(?:a schema of the answer|generated \d+)$/,
  },
];

const conversation: readonly AcceptedDifference[] = [
  {
    why: 'All system prompts are the system prompt: LiteLLM makes later ones remarks of the user',
    parts: ['request'],
    from: ['chat'],
    paths: /^(?:system|messages\[\]\.content\[\](?:\.text)?)$/,
    cases: /^a system prompt in the middle$/,
  },
  {
    why: 'Parts of a system prompt stay apart where the format has parts: LiteLLM joins them without a space at Gemini, and keeps the first one alone of Gemini',
    parts: ['request'],
    paths: /^(?:systemInstruction\.parts\[\](?:\.text)?|system\[\]\.text|messages\[\]\.content)$/,
    cases: /^(?:a system prompt in parts|recorded: Claude Code)$/,
  },
  {
    why: 'A refusal of the model is an earlier answer: LiteLLM loses it',
    parts: ['request'],
    from: ['chat'],
    paths: /^(?:messages|contents)\[\](?:\.role|\.(?:content|parts)\[\](?:\.text)?)?$/,
    cases: /^a refusal of an earlier turn$/,
  },
  {
    why: 'Results and the question after them are one turn of the user, in which roles alternate',
    parts: ['request'],
    to: ['gemini'],
    paths: /^contents\[\](?:\.parts\[\])?$/,
    cases: /^results and a question$/,
  },
  {
    why: 'A document of text has no counterpart but its text: LiteLLM loses it',
    parts: ['request'],
    from: ['messages'],
    paths: /^(?:messages\[\]\.content(?:\[\](?:\.text)?)?|contents\[\]\.parts\[\](?:\.text)?)$/,
    cases: /^a document of text$/,
  },
  {
    why: 'The name of a file is its title at Anthropic',
    parts: ['request'],
    to: ['anthropic'],
    paths: /^messages\[\]\.content\[\]\.title$/,
  },
  {
    why: 'Pictures in results follow in a message of the user, as chats have them, with the id of their call',
    parts: ['request'],
    from: ['messages'],
    paths:
      /^(?:messages\[\]\.content\[\](?:\.text|\.toolResult\.content\[\])?|contents\[\]\.parts\[\](?:\.text|\.inlineData)?)$/,
    cases: /^a result with a picture$/,
  },
  {
    why: 'A result that is an error says so in its text, where chats have no mark for it',
    parts: ['request'],
    from: ['messages'],
    paths: /^messages\[\]\.content(?:\[\]\.toolResult\.content\[\]\.text)?$/,
    cases: /^a result that is an error$/,
  },
  {
    why: 'Converse demands tools beside blocks of calls: both write calls as texts, in other words',
    parts: ['request'],
    to: ['converse'],
    paths: /^messages\[\]\.content\[\](?:\.text)?$/,
    cases: /^calls without tools$/,
  },
  {
    why: 'The documentation of Anthropic demands no tools beside calls of earlier turns',
    parts: ['request'],
    to: ['anthropic'],
    paths: /^tools$/,
    cases: /^calls without tools$/,
  },
  {
    why: 'Ids tell parallel calls of one function apart: Gemini has them, LiteLLM leaves them out or names calls by their functions',
    parts: ['request'],
    paths:
      /(?:functionCall\.id|functionResponse\.id|toolUseId|tool_use_id|tool_call_id|tool_calls\[\]\.id|^messages\[\]\.content\[\]\.id)$/,
  },
  {
    why: '`output` is the name that Google documents for the result of a function',
    parts: ['request'],
    to: ['gemini'],
    paths: /functionResponse\.response\.(?:output|content)$/,
  },
  {
    why: 'As above, from Gemini: the result is the text, not the object around it',
    parts: ['request'],
    from: ['gemini'],
    paths: /^messages\[\]\.content(?:\[\](?:\.toolResult)?\.content\[\]\.text)?$/,
  },
  {
    why: 'LiteLLM leaves out the second of two calls with equal arguments',
    parts: ['request'],
    to: ['gemini'],
    paths: /^contents\[\]\.parts\[\]$/,
    cases: /^generated \d+$/,
  },
  {
    why: 'Functions that may not be called are left out, because the format of the provider has one name for a choice',
    parts: ['request'],
    from: ['gemini'],
    paths: /^(?:tools|toolConfig\.tools)\[\](?:\.(?:toolSpec\.|function\.)?(?:name|description))?$/,
    cases: /^one tool to choose$/,
  },
];

const settings: readonly AcceptedDifference[] = [
  {
    why: 'OpenAI has deprecated `max_tokens`, which its models that reason refuse',
    parts: ['request'],
    to: ['openai'],
    paths: /^max_(?:completion_)?tokens$/,
  },
  {
    why: 'Anthropic demands a limit: 4,096 tokens bound the reservation, where LiteLLM takes the most of the model',
    parts: ['request'],
    to: ['anthropic'],
    paths: /^max_tokens$/,
    cases: /^(?:no limit of the output|recorded: Gemini CLI)$/,
  },
  {
    why: 'Efforts have the budgets of docs/reference/translation.md, at Gemini those of its own face for chats',
    parts: ['request'],
    paths: /^(?:thinking\.budget_tokens|generationConfig\.thinkingConfig\.thinkingBudget)$/,
  },
  {
    why: 'Nova takes its highest effort only without a limit of the output',
    parts: ['request'],
    to: ['converse'],
    paths: /^additionalModelRequestFields\.reasoningConfig\.maxReasoningEffort$/,
  },
  {
    why: 'An effort of messages and the budget of Gemini are efforts of the provider: LiteLLM leaves them out',
    parts: ['request'],
    from: ['messages', 'gemini'],
    paths:
      /^(?:reasoning_effort|thinking|additionalModelRequestFields|generationConfig\.thinkingConfig)$/,
    cases:
      /^(?:an effort|no thinking|a (?:small )?budget for thinking|a level of thinking|recorded: Gemini CLI)$/,
  },
  {
    why: 'Anthropic refuses `top_p` beside a temperature; `top_k` it has',
    parts: ['request'],
    from: ['gemini'],
    to: ['anthropic'],
    paths: /^top_[kp]$/,
  },
  {
    why: '`top_k`, `seed`, JSON as the answer and single calls reach OpenAI where it has them',
    parts: ['request'],
    to: ['openai'],
    paths: /^(?:top_k|seed|response_format|parallel_tool_calls)$/,
  },
  {
    why: 'A long name of a user becomes its digest: LiteLLM cuts it, so that users with one device are one',
    parts: ['request'],
    to: ['openai'],
    paths: /^user$/,
    cases: /^recorded: Claude Code$/,
  },
  {
    why: 'Gemini resolves all pictures of a request in one way; `detail` of one is a hint',
    parts: ['request'],
    to: ['gemini'],
    paths: /^generationConfig\.mediaResolution$/,
  },
  {
    why: 'Nova caches system prompts and messages: LiteLLM leaves out marks for it, and texts behind them',
    parts: ['request'],
    from: ['messages'],
    to: ['converse'],
    paths: /^(?:system|messages\[\]\.content)\[\](?:\.(?:cachePoint|text))?$/,
    cases: /^(?:a mark of the cache .*|recorded: (?:Claude Code|opencode))$/,
  },
  {
    why: 'Google verifies signatures: thoughts of another provider are left out',
    parts: ['request'],
    to: ['gemini'],
    paths: /^contents\[\]\.parts\[\](?:\.(?:text|thought|functionCall))?$/,
    cases: /^earlier thinking$/,
  },
];

/** One of them sends no request, or not the same one. */
const refusals: readonly AcceptedDifference[] = [
  {
    why: 'Converse takes pictures as bytes alone, and the gateway fetches none: LiteLLM would have fetched it',
    parts: ['request'],
    paths: /^refusal$/,
    theirs: /DNS resolution failed|fetch image|Bedrock doesn't support tool_choice=none/,
  },
  {
    why: '`tool_choice: none` leaves the tools out at Converse, and `none` is no effort of Nova',
    parts: ['request'],
    to: ['converse'],
    paths: /^refusal$/,
    theirs: /tool_choice=none|Invalid reasoning_effort value 'none'/,
  },
  {
    why: 'Both refuse what the provider does not have; here `unsupported: drop` leaves it out',
    parts: ['request'],
    paths: /^refusal$/,
    theirs: /UnsupportedParamsError/,
  },
  {
    why: 'A temperature above 1 and a sound are refused before the provider does: LiteLLM sends the one and loses the other',
    parts: ['request'],
    from: ['chat'],
    paths: /^refusal$/,
    cases: /^(?:a temperature of OpenAI alone|a sound)$/,
  },
  {
    why: "LiteLLM sends messages with thinking to OpenAI's responses, which this provider does not have",
    parts: ['request', ...answers],
    from: ['messages'],
    to: ['openai'],
    paths: /./,
    cases: /^(?:a (?:small )?budget for thinking|earlier thinking|recorded: Claude Code)$/,
  },
];

const results: readonly AcceptedDifference[] = [
  {
    why: 'Signatures of calls are beside the id: LiteLLM puts them into it',
    parts: answers,
    from: ['chat'],
    to: ['gemini'],
    paths: /^calls\[\]\.id$/,
  },
  {
    why: "Calls have their ids in Gemini's form: LiteLLM leaves them out",
    parts: answers,
    from: ['gemini'],
    paths: /^calls\[\]\.id$/,
  },
  {
    why: "Thoughts are parts in Gemini's form: LiteLLM leaves them out",
    parts: answers,
    from: ['gemini'],
    paths: /^thought$/,
  },
  {
    why: 'An answer that was cut off ends so, whether or not it has calls',
    parts: answers,
    to: ['gemini'],
    paths: /^stop$/,
  },
  {
    why: 'An answer that a filter ended has its text, calls and usage: LiteLLM leaves them out',
    parts: ['whole'],
    to: ['gemini'],
    paths: /^(?:text|thought|calls\[\]|usage\.(?:cached|output|reasoning))$/,
  },
  {
    why: 'Cached and reasoning tokens are in the usage of every caller: LiteLLM leaves them out',
    parts: answers,
    from: ['messages', 'gemini'],
    paths: /^usage\.(?:cached|reasoning)$/,
  },
  {
    why: 'Bedrock counts no reasoning tokens: LiteLLM estimates them',
    parts: answers,
    to: ['converse'],
    paths: /^usage\.reasoning$/,
  },
  {
    why: 'The usage is the one that Bedrock reports in its last event: LiteLLM counts by itself',
    parts: ['stream'],
    to: ['converse'],
    paths: /^usage\.(?:input|output|cached|written)$/,
  },
  {
    why: 'LiteLLM reads the stream of a schema as JSON and fails',
    parts: ['stream'],
    to: ['converse'],
    paths: /^fault$/,
    theirs: /Error converting to valid response block/,
    cases: /^(?:a schema of the answer|generated \d+)$/,
  },
];

export const acceptedDifferences: readonly AcceptedDifference[] = [
  ...usualSettings,
  ...schemas,
  ...conversation,
  ...settings,
  ...refusals,
  ...results,
];
