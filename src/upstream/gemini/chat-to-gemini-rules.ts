/** States what becomes of each member of a chat request that is translated to Gemini's form. */
import {
  type FormatRules,
  hint,
  implied,
  mapped,
  memberRules,
  type ObjectShape,
  refusal,
} from '../documents/member-rules.ts';

const marks = { cache_control: hint(), prompt_cache_breakpoint: hint('a mark of another cache') };

export const requestShape = {
  name: 'request',
  places: /^$/,
  kinds: {
    '': memberRules({
      model: mapped('in the path'),
      messages: mapped('`systemInstruction`, `contents`'),
      max_completion_tokens: mapped('`generationConfig.maxOutputTokens`'),
      max_tokens: mapped('`generationConfig.maxOutputTokens`'),
      stream: mapped('in the path'),
      stream_options: implied('usage is translated in any case'),
      temperature: mapped('`generationConfig.temperature`'),
      top_p: mapped('`generationConfig.topP`'),
      top_k: mapped('`generationConfig.topK`; an extension'),
      stop: mapped('`generationConfig.stopSequences`'),
      n: mapped('`generationConfig.candidateCount`'),
      seed: mapped('`generationConfig.seed`'),
      frequency_penalty: mapped('`generationConfig.frequencyPenalty`'),
      presence_penalty: mapped('`generationConfig.presencePenalty`'),
      logprobs: mapped('`generationConfig.responseLogprobs`'),
      top_logprobs: mapped('`generationConfig.logprobs`'),
      tools: mapped('`tools`'),
      tool_choice: mapped('`toolConfig.functionCallingConfig`'),
      response_format: mapped('`responseMimeType`, `responseJsonSchema` of `generationConfig`'),
      reasoning_effort: mapped(
        '`generationConfig.thinkingConfig`, by [model](inference.md#gemini)',
      ),
      thinking: mapped('`generationConfig.thinkingConfig`; an extension'),
      parallel_tool_calls: hint('', [true]),
      metadata: hint(),
      prediction: hint(),
      prompt_cache_key: hint(),
      prompt_cache_options: hint(),
      prompt_cache_retention: hint(),
      safety_identifier: hint(),
      service_tier: hint(),
      user: hint(),
      verbosity: hint('', ['medium']),
      store: hint('', [false]),
      functions: refusal('use `tools`', [[]]),
      function_call: refusal('use `tool_choice`'),
      logit_bias: refusal('', [{}]),
      modalities: refusal('sound', [['text'], []]),
      audio: refusal('sound'),
      moderation: refusal(),
      web_search_options: refusal('the provider runs it'),
    }),
  },
} satisfies ObjectShape;

const instruction = memberRules({
  role: mapped('`systemInstruction`'),
  content: mapped('`parts`'),
  name: hint(),
  cache_control: hint(),
});
const thoughts = mapped('parts with `thought` where Google issued them, else left out as a hint');

export const messageShape = {
  name: 'message',
  places: /^messages\[\]$/,
  kinds: {
    system: instruction,
    developer: instruction,
    user: memberRules({
      role: mapped('`user`'),
      content: mapped('`parts`'),
      name: hint(),
      cache_control: hint(),
    }),
    assistant: memberRules({
      role: mapped('`model`'),
      content: mapped('`parts`'),
      refusal: mapped('a text'),
      tool_calls: mapped('`functionCall`'),
      name: hint(),
      reasoning_content: thoughts,
      reasoning: thoughts,
      reasoning_details: mapped('`thought`, `thoughtSignature`'),
      annotations: implied('cites what the text says'),
      logprobs: implied(),
      audio: hint('sound of an earlier response'),
      function_call: refusal('use `tool_calls`'),
      cache_control: hint(),
    }),
    tool: memberRules({
      role: mapped('`user`'),
      content: mapped('`functionResponse.response`; a text is its `output`'),
      tool_call_id: mapped('`functionResponse.id`'),
      name: mapped('`functionResponse.name` where no call has the id'),
      cache_control: hint(),
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
      text: mapped('`text`'),
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
    image_url: memberRules({
      type: implied(),
      image_url: mapped('`inlineData`, for an address `fileData`'),
      ...marks,
    }),
    file: memberRules({ type: implied(), file: mapped('`inlineData`'), ...marks }),
    input_audio: memberRules({ type: implied(), input_audio: mapped('`inlineData`'), ...marks }),
  },
} satisfies ObjectShape;

export const imageShape = {
  name: 'picture',
  places: /\.image_url$/,
  kinds: { '': memberRules({ url: mapped('`data`, or `fileUri`'), detail: hint('', ['auto']) }) },
} satisfies ObjectShape;

export const fileShape = {
  name: 'file',
  places: /\.file$/,
  kinds: {
    '': memberRules({
      file_data: mapped('`data`, from a data URL'),
      filename: implied('a label'),
      file_id: refusal('a file stored at OpenAI'),
    }),
  },
} satisfies ObjectShape;

export const soundShape = {
  name: 'sound',
  places: /\.input_audio$/,
  kinds: { '': memberRules({ data: mapped('`data`'), format: mapped('`mimeType`') }) },
} satisfies ObjectShape;

export const callShape = {
  name: 'tool call',
  places: /^messages\[\]\.tool_calls\[\]$/,
  kinds: {
    function: memberRules({
      id: mapped('`functionCall.id`'),
      type: implied(),
      function: mapped('`functionCall.name`, `functionCall.args`'),
      extra_content: mapped('`thoughtSignature`'),
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
      function: mapped('`functionDeclarations[]`'),
      cache_control: hint(),
    }),
    custom: refusal('use a function'),
  },
} satisfies ObjectShape;

export const functionShape = {
  name: 'function',
  places: /^tools\[\]\.function$/,
  kinds: {
    '': memberRules({
      name: mapped('`name`'),
      description: mapped('`description`'),
      parameters: mapped('`parametersJsonSchema`'),
      strict: hint('', [false]),
    }),
  },
} satisfies ObjectShape;

export const choiceShape = {
  name: 'tool choice',
  places: /^tool_choice$/,
  kinds: {
    function: memberRules({ type: mapped('`ANY`'), function: mapped('`allowedFunctionNames`') }),
    custom: refusal('use a function'),
    allowed_tools: refusal(),
  },
} satisfies ObjectShape;

export const formatShape = {
  name: 'response format',
  places: /^response_format$/,
  kinds: {
    text: memberRules({ type: implied() }),
    json_object: memberRules({ type: mapped('`responseMimeType`') }),
    json_schema: memberRules({
      type: mapped('`responseMimeType`'),
      json_schema: mapped('`responseJsonSchema`'),
    }),
  },
} satisfies ObjectShape;

export const schemaShape = {
  name: 'schema of the response',
  places: /^response_format\.json_schema$/,
  kinds: {
    '': memberRules({
      schema: mapped('keywords that Google lacks are hints'),
      name: implied('a label'),
      description: implied('a label'),
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

export const chatToGeminiRules: FormatRules = {
  from: 'chat',
  to: "Gemini's form",
  shapes: [
    requestShape,
    messageShape,
    partShape,
    imageShape,
    fileShape,
    soundShape,
    callShape,
    toolShape,
    functionShape,
    choiceShape,
    formatShape,
    schemaShape,
    streamShape,
  ],
};
