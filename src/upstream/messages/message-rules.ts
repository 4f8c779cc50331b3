/** States what becomes of each member of a message request that is translated to a chat. */
import {
  carried,
  type FormatRules,
  hint,
  implied,
  mapped,
  memberRules,
  type ObjectShape,
  optionalTool,
  refusal,
} from '../documents/member-rules.ts';

const cacheControl = mapped(
  'kept for services that take it (OpenRouter, DashScope), else left out as a hint',
);
const sampling = 'kept, but a hint for models of OpenAI that reason';
const providerTool = refusal('the provider runs it');
const generalTool = optionalTool('the provider runs it');
const providerResult = refusal('result of a tool that Anthropic runs');

export const requestShape: ObjectShape = {
  name: 'request',
  places: /^$/,
  kinds: {
    '': memberRules({
      model: carried(),
      messages: mapped('`messages`'),
      system: mapped('a message of `system`'),
      max_tokens: mapped('`max_completion_tokens` at OpenAI and Azure, else `max_tokens`'),
      temperature: mapped(sampling),
      top_p: mapped(sampling),
      top_k: mapped(
        'kept for services that take it (vLLM, OpenRouter and others), else left out as a hint',
      ),
      stop_sequences: mapped('`stop`'),
      stream: carried(),
      tools: mapped('`tools`'),
      tool_choice: mapped('`tool_choice`, `parallel_tool_calls`'),
      thinking: mapped('`reasoning_effort`, by [budget](#reasoning)'),
      output_config: mapped('`reasoning_effort`, `response_format`'),
      output_format: mapped('`response_format`; an older form of `output_config.format`'),
      metadata: mapped('`user`'),
      service_tier: mapped('`standard_only` is `default`'),
      thread: implied('a new thread; others are 404'),
      cache_control: hint(),
      context_management: hint('the complete history is sent'),
      compaction: hint('the complete history is sent'),
      fallbacks: hint('the config has its own'),
      fallback_credit_token: hint(),
      billing_policy: hint(),
      diagnostics: hint(),
      betas: hint(),
      speed: hint('', ['standard']),
      user_profile_id: hint(),
      workspace_id: hint(),
      container: refusal(),
      mcp_servers: refusal(),
      inference_geo: refusal(),
    }),
  },
};

export const turnShape: ObjectShape = {
  name: 'message',
  places: /^messages\[\]$/,
  kinds: {
    user: memberRules({ role: carried(), content: mapped('content, or messages of `tool`') }),
    assistant: memberRules({ role: carried(), content: mapped('text, `tool_calls`, reasoning') }),
    system: memberRules({
      role: carried(),
      content: mapped('text'),
      clear_at: hint('the complete history is sent'),
      output_config: refusal('set it beside `messages`'),
    }),
  },
};

/** The kinds of content blocks, in turns, in results of tools and in the system prompt. */
export const blockShape: ObjectShape = {
  name: 'content block',
  places: /(?:^|\.)(?:content|system)\[\]$|\.content\.content$/,
  kinds: {
    text: memberRules({
      type: carried(),
      text: carried(),
      cache_control: cacheControl,
      citations: hint('', [[]]),
    }),
    image: memberRules({
      type: mapped('`image_url`'),
      source: mapped('`image_url.url`'),
      cache_control: cacheControl,
      transformations: hint(),
    }),
    document: memberRules({
      type: mapped('`file`, or `text` for a text'),
      source: mapped('`file.file_data`, or a text'),
      title: mapped('`file.filename`, or the first line of the text'),
      context: hint(),
      citations: refusal('the response cites nothing', [{ enabled: false }]),
      cache_control: cacheControl,
    }),
    search_result: memberRules({
      type: mapped('`text`'),
      content: mapped('text'),
      source: mapped('text'),
      title: mapped('text'),
      citations: refusal('the response cites nothing', [{ enabled: false }]),
      cache_control: cacheControl,
    }),
    thinking: memberRules({
      type: mapped('`reasoning_content` or `reasoning_details`'),
      thinking: mapped('for services that take [reasoning of earlier turns](#reasoning)'),
      signature: mapped('returned to the family that issued it, else left out as a hint'),
    }),
    redacted_thinking: memberRules({
      type: mapped('`reasoning_details`'),
      data: mapped('as a signature'),
    }),
    tool_use: memberRules({
      type: mapped('`tool_calls`'),
      id: carried(),
      name: mapped('`function.name`'),
      input: mapped('`function.arguments`'),
      caller: refusal('', [{ type: 'direct' }]),
      toolset_name: refusal(),
      cache_control: cacheControl,
    }),
    tool_result: memberRules({
      type: mapped('a message of `tool`'),
      tool_use_id: mapped('`tool_call_id`'),
      content: mapped('texts; pictures and files follow in a message of `user`'),
      is_error: mapped('the prefix `Error: `'),
      toolset_name: refusal(),
      cache_control: cacheControl,
    }),
    tool_reference: memberRules({
      type: mapped('`text`'),
      tool_name: mapped('text; no tool is deferred'),
      cache_control: hint(),
    }),
    server_tool_use: refusal(
      'call of a tool that Anthropic runs; a hint for a search of tools or of the web',
    ),
    tool_search_tool_result: hint('all tools are in the request'),
    web_search_tool_result: hint('an earlier search; the text says what it found'),
    web_fetch_tool_result: hint('an earlier search; the text says what it found'),
    code_execution_tool_result: providerResult,
    bash_code_execution_tool_result: providerResult,
    text_editor_code_execution_tool_result: providerResult,
    container_upload: refusal(),
    browser_state: refusal(),
    advisor_tool_result: providerResult,
    mcp_tool_use: providerResult,
    mcp_tool_result: providerResult,
    mcp_tool_listing: providerResult,
    compaction: refusal('stands for messages that are not sent'),
    fallback: hint('an earlier change of the model'),
    tool_addition: refusal('send all tools beside `messages`'),
    tool_removal: refusal('send all tools beside `messages`'),
  },
};

export const sourceShape: ObjectShape = {
  name: 'source of a picture or a document',
  places: /\.source$/,
  kinds: {
    base64: memberRules({
      type: implied(),
      media_type: mapped('data URL'),
      data: mapped('data URL'),
    }),
    url: memberRules({
      type: implied(),
      url: mapped('`image_url.url`; a document by URL is refused'),
    }),
    text: memberRules({ type: implied(), media_type: implied(), data: mapped('text') }),
    content: memberRules({ type: implied(), content: mapped('parts') }),
    file: refusal('a file stored at Anthropic'),
  },
};

const deferred = hint('all tools are in the request', [false]);
const callers = refusal('', [['direct']]);

export const toolShape: ObjectShape = {
  name: 'tool',
  places: /^tools\[\]$/,
  kinds: {
    custom: memberRules({
      type: mapped('`function`'),
      name: mapped('`function.name`'),
      description: mapped('`function.description`'),
      input_schema: mapped('`function.parameters`'),
      strict: mapped('`function.strict`'),
      cache_control: cacheControl,
      eager_input_streaming: hint('', [false]),
      defer_loading: deferred,
      allowed_callers: callers,
      input_examples: hint('', [[]]),
    }),
    tool_search_tool_bm25: hint('all tools are in the request'),
    tool_search_tool_bm25_20251119: hint('all tools are in the request'),
    tool_search_tool_regex: hint('all tools are in the request'),
    tool_search_tool_regex_20251119: hint('all tools are in the request'),
    bash_20241022: refusal('defined by Anthropic'),
    bash_20250124: refusal('defined by Anthropic'),
    computer_20241022: refusal('defined by Anthropic'),
    computer_20250124: refusal('defined by Anthropic'),
    computer_20251124: refusal('defined by Anthropic'),
    text_editor_20241022: refusal('defined by Anthropic'),
    advisor_20260301: providerTool,
    mcp_toolset: providerTool,
    text_editor_20250124: refusal('defined by Anthropic'),
    text_editor_20250429: refusal('defined by Anthropic'),
    text_editor_20250728: refusal('defined by Anthropic'),
    memory_20250818: refusal('defined by Anthropic'),
    browser_toolset_20260801: refusal('defined by Anthropic'),
    computer_toolset_20260801: refusal('defined by Anthropic'),
    code_execution_20250522: providerTool,
    code_execution_20250825: providerTool,
    code_execution_20260120: providerTool,
    code_execution_20260521: providerTool,
    web_fetch_20250910: generalTool,
    web_fetch_20260209: generalTool,
    web_fetch_20260309: generalTool,
    web_fetch_20260318: generalTool,
    web_search_20250305: generalTool,
    web_search_20260209: generalTool,
    web_search_20260318: generalTool,
  },
};

const choice = {
  type: mapped('`any` is `required`'),
  disable_parallel_tool_use: mapped('`parallel_tool_calls`'),
};

export const choiceShape: ObjectShape = {
  name: 'tool choice',
  places: /^tool_choice$/,
  kinds: {
    auto: memberRules(choice),
    any: memberRules(choice),
    none: memberRules({ type: carried() }),
    tool: memberRules({ ...choice, name: mapped('`function.name`') }),
  },
};

export const thinkingShape: ObjectShape = {
  name: 'thinking',
  places: /^thinking$/,
  kinds: {
    enabled: memberRules({
      type: mapped('`reasoning_effort`'),
      budget_tokens: mapped('`reasoning_effort`'),
      display: implied('reasoning is returned where the provider sends it'),
      block_binding: hint(),
    }),
    adaptive: memberRules({
      type: mapped('`medium`, unless an effort is set'),
      display: implied(),
      block_binding: hint(),
    }),
    between_tools: memberRules({ type: mapped('`medium`, unless an effort is set') }),
    disabled: memberRules({ type: mapped('`none` for models that know it') }),
  },
};

export const outputShape: ObjectShape = {
  name: 'output',
  places: /^output_config$/,
  kinds: {
    '': memberRules({
      effort: mapped('`reasoning_effort`; a hint for models that do not reason'),
      format: mapped('`response_format`'),
      task_budget: hint(),
    }),
  },
};

export const outputFormatShape: ObjectShape = {
  name: 'output format',
  places: /^output_(?:config\.)?format$/,
  kinds: { json_schema: memberRules({ type: carried(), schema: mapped('`json_schema.schema`') }) },
};

export const metadataShape: ObjectShape = {
  name: 'metadata',
  places: /^metadata$/,
  kinds: {
    '': memberRules({ user_id: mapped('`user`; its digest if it has more than 64 characters') }),
  },
};

export const messageRules: FormatRules = {
  from: 'messages',
  to: 'chat',
  shapes: [
    requestShape,
    turnShape,
    blockShape,
    sourceShape,
    toolShape,
    choiceShape,
    thinkingShape,
    outputShape,
    outputFormatShape,
    metadataShape,
  ],
};
