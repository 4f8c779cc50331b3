/** States what becomes of each member of a chat request that is translated to Converse. */
import {
  carried,
  type FormatRules,
  hint,
  implied,
  mapped,
  memberRules,
  type ObjectShape,
  refusal,
} from '../documents/member-rules.ts';

const point = mapped('`cachePoint` behind it, where the model takes one');
const marks = { cache_control: point, prompt_cache_breakpoint: hint('a mark of another cache') };
const extension = carried('an extension');

export const requestShape = {
  name: 'request',
  places: /^$/,
  kinds: {
    '': memberRules({
      model: mapped('in the path'),
      messages: mapped('`system`, `messages`'),
      max_completion_tokens: mapped('`inferenceConfig.maxTokens`'),
      max_tokens: mapped('`inferenceConfig.maxTokens`'),
      stream: mapped('in the path'),
      stream_options: implied('usage is translated in any case'),
      temperature: mapped('`inferenceConfig.temperature`'),
      top_p: mapped('`inferenceConfig.topP`'),
      top_k: mapped('a member of `additionalModelRequestFields`; an extension'),
      stop: mapped('`inferenceConfig.stopSequences`'),
      tools: mapped('`toolConfig.tools`'),
      tool_choice: mapped('`toolConfig.toolChoice`; for `none` the tools are left out'),
      response_format: mapped('`outputConfig.textFormat`'),
      reasoning_effort: mapped(
        '`outputConfig.effort` or `reasoningConfig`, by [model](bedrock.md#converse)',
      ),
      thinking: mapped('a member of `additionalModelRequestFields`; an extension'),
      service_tier: mapped('`serviceTier`'),
      additionalModelRequestFields: extension,
      additionalModelResponseFieldPaths: extension,
      guardrailConfig: extension,
      performanceConfig: extension,
      requestMetadata: extension,
      context_management: hint('the complete history is sent'),
      parallel_tool_calls: hint('', [true]),
      metadata: hint(),
      prediction: hint(),
      prompt_cache_key: hint(),
      prompt_cache_options: hint(),
      prompt_cache_retention: hint(),
      safety_identifier: hint(),
      user: hint(),
      verbosity: hint('', ['medium']),
      store: hint('', [false]),
      n: refusal('', [1]),
      seed: refusal(),
      logprobs: refusal('', [false]),
      top_logprobs: refusal('', [0]),
      frequency_penalty: refusal('', [0]),
      presence_penalty: refusal('', [0]),
      logit_bias: refusal('', [{}]),
      functions: refusal('use `tools`', [[]]),
      function_call: refusal('use `tool_choice`'),
      modalities: refusal('sound', [['text'], []]),
      audio: refusal('sound'),
      moderation: refusal(),
      web_search_options: refusal('the provider runs it'),
    }),
  },
} satisfies ObjectShape;

const instruction = memberRules({
  role: mapped('`system`'),
  content: mapped('`text`'),
  name: hint(),
  cache_control: point,
});
const thoughts = mapped(
  '`reasoningContent` where its `reasoning_details` are signed by Bedrock, else left out as a hint',
);

export const messageShape = {
  name: 'message',
  places: /^messages\[\]$/,
  kinds: {
    system: instruction,
    developer: instruction,
    user: memberRules({
      role: carried(),
      content: mapped('`text`, `image`, `document`'),
      name: hint(),
      cache_control: point,
    }),
    assistant: memberRules({
      role: carried(),
      content: mapped('`text`'),
      refusal: mapped('a text'),
      tool_calls: mapped('`toolUse`'),
      name: hint(),
      reasoning_content: thoughts,
      reasoning: thoughts,
      reasoning_details: mapped('`reasoningContent`'),
      annotations: implied('cites what the text says'),
      logprobs: implied(),
      audio: hint('sound of an earlier response'),
      function_call: refusal('use `tool_calls`'),
      cache_control: point,
    }),
    tool: memberRules({
      role: mapped('`user`'),
      content: mapped('`toolResult.content`'),
      tool_call_id: mapped('`toolResult.toolUseId`'),
      name: implied('in the call'),
      cache_control: point,
    }),
    function: refusal('use `tool`'),
  },
} satisfies ObjectShape;

export const partShape = {
  name: 'content part',
  places: /^messages\[\]\.content\[\]$|^prediction\.content\[\]$/,
  kinds: {
    text: memberRules({
      type: implied(),
      text: carried(),
      ...marks,
      annotations: implied(),
      reasoning: implied(),
      reasoning_content: implied(),
      reasoning_details: implied(),
      logprobs: implied(),
      role: implied(),
      refusal: implied(),
      tool_calls: implied(),
    }),
    refusal: memberRules({ type: implied(), refusal: mapped('`text`') }),
    image_url: memberRules({ type: implied(), image_url: mapped('`image`'), ...marks }),
    file: memberRules({ type: implied(), file: mapped('`document`'), ...marks }),
    input_audio: refusal('sound'),
  },
} satisfies ObjectShape;

export const imageShape = {
  name: 'picture',
  places: /\.image_url$/,
  kinds: {
    '': memberRules({
      url: mapped('`format`, `source.bytes`, from a data URL'),
      detail: implied('Bedrock knows one detail'),
    }),
  },
} satisfies ObjectShape;

export const fileShape = {
  name: 'file',
  places: /\.file$/,
  kinds: {
    '': memberRules({
      file_data: mapped('`format`, `source.bytes`, from a data URL'),
      filename: mapped('`name`'),
      file_id: refusal('a file stored at OpenAI'),
    }),
  },
} satisfies ObjectShape;

export const callShape = {
  name: 'tool call',
  places: /^messages\[\]\.tool_calls\[\]$/,
  kinds: {
    function: memberRules({
      id: mapped('`toolUseId`'),
      type: implied(),
      function: mapped('`name`, `input`'),
      extra_content: implied('belongs to another provider'),
      index: implied(),
    }),
    custom: refusal('use a function'),
  },
} satisfies ObjectShape;

export const toolShape = {
  name: 'tool',
  places: /^tools\[\]$/,
  kinds: {
    function: memberRules({
      type: implied(),
      function: mapped('`toolSpec`'),
      cache_control: point,
    }),
    custom: refusal('use a function'),
  },
} satisfies ObjectShape;

export const functionShape = {
  name: 'function',
  places: /^tools\[\]\.function$/,
  kinds: {
    '': memberRules({
      name: carried(),
      description: carried(),
      parameters: mapped('`inputSchema.json`'),
      strict: carried(),
    }),
  },
} satisfies ObjectShape;

export const choiceShape = {
  name: 'tool choice',
  places: /^tool_choice$/,
  kinds: {
    function: memberRules({ type: mapped('`tool`'), function: mapped('`tool.name`') }),
    custom: refusal('use a function'),
    allowed_tools: refusal(),
  },
} satisfies ObjectShape;

export const formatShape = {
  name: 'response format',
  places: /^response_format$/,
  kinds: {
    text: memberRules({ type: implied() }),
    json_schema: memberRules({ type: carried(), json_schema: mapped('`structure.jsonSchema`') }),
    json_object: refusal('Bedrock needs a schema'),
  },
} satisfies ObjectShape;

export const schemaShape = {
  name: 'schema of the response',
  places: /^response_format\.json_schema$/,
  kinds: {
    '': memberRules({
      schema: mapped('`schema`, as text'),
      name: carried(),
      description: carried(),
      strict: implied('always strict'),
    }),
  },
} satisfies ObjectShape;

export const streamShape = {
  name: 'stream options',
  places: /^stream_options$/,
  kinds: {
    '': memberRules({ include_usage: mapped('the last event'), include_obfuscation: implied() }),
  },
} satisfies ObjectShape;

export const chatToConverseRules: FormatRules = {
  from: 'chat',
  to: 'Converse',
  shapes: [
    requestShape,
    messageShape,
    partShape,
    imageShape,
    fileShape,
    callShape,
    toolShape,
    functionShape,
    choiceShape,
    formatShape,
    schemaShape,
    streamShape,
  ],
};
