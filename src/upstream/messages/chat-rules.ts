/** States what becomes of each member of a chat request that is translated to a message. */
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

const breakpoint = hint('a mark of another cache');
const cacheControl = carried('an extension that users of Anthropic send');

export const requestShape: ObjectShape = {
  name: 'request',
  places: /^$/,
  kinds: {
    '': memberRules({
      model: carried(),
      messages: mapped('`system`, `messages`'),
      max_completion_tokens: mapped('`max_tokens`; 4096 without one'),
      max_tokens: carried(),
      stream: carried(),
      stream_options: implied('usage is translated in any case'),
      temperature: mapped('above 1 is refused'),
      top_p: carried(),
      top_k: carried('an extension that users of Anthropic send'),
      stop: mapped('`stop_sequences`'),
      tools: mapped('`tools`'),
      tool_choice: mapped('`tool_choice`'),
      parallel_tool_calls: mapped('`tool_choice.disable_parallel_tool_use`'),
      functions: refusal('use `tools`', [[]]),
      function_call: refusal('use `tool_choice`'),
      response_format: mapped('`output_config.format`'),
      reasoning_effort: mapped('`output_config.effort` or `thinking`, by [model](#reasoning)'),
      thinking: carried('an extension that users of Anthropic send'),
      user: mapped('`metadata.user_id`'),
      safety_identifier: mapped('`metadata.user_id`'),
      service_tier: mapped('`default` is `standard_only`; `auto` exists in both'),
      metadata: hint(),
      prediction: hint(),
      prompt_cache_key: hint(),
      prompt_cache_options: hint(),
      prompt_cache_retention: hint(),
      verbosity: hint('', ['medium']),
      store: hint('', [false]),
      seed: refusal(),
      n: refusal('', [1]),
      logprobs: refusal('', [false]),
      top_logprobs: refusal('', [0]),
      frequency_penalty: refusal('', [0]),
      presence_penalty: refusal('', [0]),
      logit_bias: refusal('', [{}]),
      modalities: refusal('sound', [['text'], []]),
      audio: refusal('sound'),
      moderation: refusal(),
      web_search_options: refusal('the provider runs it'),
    }),
  },
};

const text = mapped('text blocks');
const named = refusal();

export const messageShape: ObjectShape = {
  name: 'message',
  places: /^messages\[\]$/,
  kinds: {
    system: memberRules({
      role: mapped('`system`'),
      content: text,
      name: named,
      cache_control: cacheControl,
    }),
    developer: memberRules({
      role: mapped('`system`'),
      content: text,
      name: named,
      cache_control: cacheControl,
    }),
    user: memberRules({
      role: carried(),
      content: mapped('text, `image`, `document` with a PDF'),
      name: named,
      cache_control: cacheControl,
    }),
    assistant: memberRules({
      role: carried(),
      content: mapped('blocks; a last one begins the response'),
      refusal: mapped('a text'),
      tool_calls: mapped('`tool_use`'),
      name: named,
      reasoning_content: mapped(
        '`thinking` where its `reasoning_details` are signed by Anthropic, else left out as a hint',
      ),
      reasoning: mapped('as `reasoning_content`'),
      reasoning_details: mapped('`thinking`, `redacted_thinking`'),
      annotations: implied('cites what the text says'),
      logprobs: implied(),
      audio: hint('sound of an earlier response'),
      function_call: refusal('use `tool_calls`'),
      cache_control: cacheControl,
    }),
    tool: memberRules({
      role: mapped('`tool_result`'),
      content: text,
      tool_call_id: mapped('`tool_use_id`'),
      name: implied('in the call'),
      cache_control: cacheControl,
    }),
    function: refusal('use `tool`'),
  },
};

export const partShape: ObjectShape = {
  name: 'content part',
  places: /^messages\[\]\.content\[\]$|^prediction\.content\[\]$/,
  kinds: {
    text: memberRules({
      type: carried(),
      text: carried(),
      cache_control: cacheControl,
      prompt_cache_breakpoint: breakpoint,
      annotations: implied(),
      reasoning: implied(),
      reasoning_content: implied(),
      reasoning_details: implied(),
      logprobs: implied(),
      role: implied(),
      refusal: implied(),
      tool_calls: implied(),
    }),
    refusal: memberRules({ type: mapped('`text`'), refusal: mapped('`text`') }),
    image_url: memberRules({
      type: mapped('`image`'),
      image_url: mapped('`source`, by URL or data'),
      cache_control: cacheControl,
      prompt_cache_breakpoint: breakpoint,
    }),
    file: memberRules({
      type: mapped('`document`'),
      file: mapped('`source`, `title`'),
      cache_control: cacheControl,
      prompt_cache_breakpoint: breakpoint,
    }),
    input_audio: refusal('sound'),
  },
};

export const imageShape: ObjectShape = {
  name: 'picture',
  places: /\.image_url$/,
  kinds: {
    '': memberRules({ url: mapped('`source`'), detail: implied('Anthropic knows one detail') }),
  },
};

export const fileShape: ObjectShape = {
  name: 'file',
  places: /\.file$/,
  kinds: {
    '': memberRules({
      file_data: mapped('`source.data`; PDF only'),
      filename: mapped('`title`'),
      file_id: refusal('a file stored at OpenAI'),
    }),
  },
};

export const callShape: ObjectShape = {
  name: 'tool call',
  places: /^messages\[\]\.tool_calls\[\]$/,
  kinds: {
    function: memberRules({
      id: carried(),
      type: mapped('`tool_use`'),
      function: mapped('`name`, `input`'),
      extra_content: implied('belongs to another provider'),
      index: implied(),
    }),
    custom: memberRules({
      id: carried(),
      type: mapped('`tool_use`'),
      custom: mapped('`name`, `input.input`'),
    }),
  },
};

export const toolShape: ObjectShape = {
  name: 'tool',
  places: /^tools\[\]$/,
  kinds: {
    function: memberRules({
      type: implied(),
      function: mapped('`name`, `description`, `input_schema`, `strict`'),
      cache_control: cacheControl,
    }),
    custom: memberRules({
      type: implied(),
      custom: mapped('a tool whose `input_schema` has one text, `input`'),
      cache_control: cacheControl,
    }),
  },
};

export const functionShape: ObjectShape = {
  name: 'function',
  places: /^tools\[\]\.function$/,
  kinds: {
    '': memberRules({
      name: carried(),
      description: carried(),
      parameters: mapped('`input_schema`'),
      strict: carried(),
    }),
  },
};

export const customToolShape: ObjectShape = {
  name: 'custom tool',
  places: /^tools\[\]\.custom$/,
  kinds: {
    '': memberRules({
      name: carried(),
      description: carried(),
      format: mapped('a grammar is described in `description`, and left out as a hint'),
    }),
  },
};

export const choiceShape: ObjectShape = {
  name: 'tool choice',
  places: /^tool_choice$/,
  kinds: {
    function: memberRules({ type: mapped('`tool`'), function: mapped('`name`') }),
    custom: memberRules({ type: mapped('`tool`'), custom: mapped('`name`') }),
    allowed_tools: refusal(),
  },
};

export const formatShape: ObjectShape = {
  name: 'response format',
  places: /^response_format$/,
  kinds: {
    text: memberRules({ type: implied() }),
    json_schema: memberRules({ type: carried(), json_schema: mapped('`schema`') }),
    json_object: refusal('Anthropic needs a schema'),
  },
};

export const schemaShape: ObjectShape = {
  name: 'schema of the response',
  places: /^response_format\.json_schema$/,
  kinds: {
    '': memberRules({
      schema: mapped('objects are closed; bounds become part of the description'),
      name: implied('a label'),
      description: hint(),
      strict: implied('always strict'),
    }),
  },
};

export const streamShape: ObjectShape = {
  name: 'stream options',
  places: /^stream_options$/,
  kinds: {
    '': memberRules({ include_usage: mapped('the last event'), include_obfuscation: implied() }),
  },
};

export const chatRules: FormatRules = {
  from: 'chat',
  to: 'messages',
  shapes: [
    requestShape,
    messageShape,
    partShape,
    imageShape,
    fileShape,
    callShape,
    toolShape,
    functionShape,
    customToolShape,
    choiceShape,
    formatShape,
    schemaShape,
    streamShape,
  ],
};
