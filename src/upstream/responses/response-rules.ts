/** States what becomes of each member of a responses request that is translated to a chat. */
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

const openAiOnly = mapped('kept for OpenAI and Azure, else left out as a hint');
const providerTool = refusal('the provider runs it');
const generalTool = optionalTool('the provider runs it');

export const requestShape: ObjectShape = {
  name: 'request',
  places: /^$/,
  kinds: {
    '': memberRules({
      model: carried(),
      input: mapped('`messages`'),
      instructions: mapped('a message of `system`'),
      max_output_tokens: mapped('`max_completion_tokens` at OpenAI and Azure, else `max_tokens`'),
      temperature: carried(),
      top_p: carried(),
      stream: carried(),
      stream_options: implied('usage is translated in any case'),
      tools: mapped('`tools`'),
      tool_choice: mapped('`tool_choice`'),
      parallel_tool_calls: carried(),
      text: mapped('`response_format`, `verbosity`'),
      reasoning: mapped('`reasoning_effort`'),
      include: mapped('encrypted reasoning; results of tools that the provider runs do not exist'),
      user: carried(),
      safety_identifier: carried(),
      service_tier: carried(),
      prompt_cache_key: openAiOnly,
      prompt_cache_retention: openAiOnly,
      prompt_cache_options: hint(),
      store: implied('the gateway stores the response'),
      background: implied('the gateway runs it in the background'),
      previous_response_id: implied('the gateway inserts what it stores'),
      conversation: implied(
        'the gateway inserts what it stores; one of another provider is refused',
      ),
      metadata: implied('the gateway stores it'),
      client_metadata: hint(),
      max_tool_calls: hint('limits tools that the provider runs'),
      truncation: hint('', ['disabled']),
      context_management: hint('the complete history is sent'),
      image: hint(),
      top_logprobs: refusal('', [0]),
      moderation: refusal(),
      multi_agent: refusal('the provider runs the agents'),
      betas: hint(),
      access_programs: refusal(),
      prompt: refusal('use a prompt of the gateway'),
    }),
  },
};

const identity = {
  id: implied(),
  status: implied(),
  agent: hint('the agent of several that made it'),
};
const direct = refusal('', [{ type: 'direct' }]);

/** Items by `type`; one without a type is a message. */
export const itemShape: ObjectShape = {
  name: 'item',
  places: /^input\[\]$/,
  kinds: {
    message: memberRules({
      type: implied(),
      role: mapped('`developer` is `system`'),
      content: mapped('texts, or parts'),
      phase: hint(),
      ...identity,
    }),
    function_call: memberRules({
      type: mapped('`tool_calls`'),
      call_id: mapped('`id`'),
      name: mapped('`function.name`'),
      namespace: mapped('before the name'),
      arguments: mapped('`function.arguments`'),
      caller: direct,
      async: hint('', [false]),
      ...identity,
    }),
    function_call_output: memberRules({
      type: mapped('a message of `tool`'),
      call_id: mapped('`tool_call_id`'),
      output: mapped('texts; pictures and files follow in a message of `user`'),
      name: implied('in the call'),
      namespace: implied('in the call'),
      caller: direct,
      ...identity,
    }),
    custom_tool_call: memberRules({
      type: mapped('`tool_calls` of a function'),
      call_id: mapped('`id`'),
      name: mapped('`function.name`'),
      namespace: mapped('before the name'),
      input: mapped('`function.arguments`: `{"input": …}`'),
      caller: direct,
      async: hint('', [false]),
      ...identity,
    }),
    custom_tool_call_output: memberRules({
      type: mapped('a message of `tool`'),
      call_id: mapped('`tool_call_id`'),
      output: mapped('as of `function_call_output`'),
      name: implied('in the call'),
      caller: direct,
      ...identity,
    }),
    reasoning: memberRules({
      type: mapped('`reasoning_content` or `reasoning_details`'),
      summary: mapped('for services that take [reasoning of earlier turns](#reasoning)'),
      content: mapped('as `summary`'),
      encrypted_content: mapped('returned to the family that issued it'),
      ...identity,
    }),
    additional_tools: memberRules({
      type: implied(),
      tools: mapped('`tools`'),
      role: implied(),
      ...identity,
    }),
    tool_search_call: memberRules({
      type: mapped('`tool_calls` of the function `tool_search`'),
      call_id: mapped('`id`'),
      arguments: mapped('`function.arguments`'),
      execution: implied('`client`'),
      ...identity,
    }),
    tool_search_output: memberRules({
      type: mapped('a message of `tool`'),
      call_id: mapped('`tool_call_id`'),
      tools: mapped('`tools`'),
      execution: implied('`client`'),
      ...identity,
    }),
    agent_message: refusal('the provider runs the agents'),
    multi_agent_call: refusal('the provider runs the agents'),
    multi_agent_call_output: refusal('the provider runs the agents'),
    web_search_call: hint('an earlier search; its result is in the text'),
    compaction_trigger: hint(),
    configuration_update: refusal(),
    item_reference: refusal('the gateway inserts items that it stores'),
    compaction: refusal('only its provider can read it'),
    file_search_call: providerTool,
    image_generation_call: providerTool,
    code_interpreter_call: providerTool,
    computer_call: refusal('defined by OpenAI'),
    computer_call_output: refusal('defined by OpenAI'),
    local_shell_call: refusal('defined by OpenAI'),
    local_shell_call_output: refusal('defined by OpenAI'),
    shell_call: refusal('defined by OpenAI'),
    shell_call_output: refusal('defined by OpenAI'),
    apply_patch_call: refusal('defined by OpenAI'),
    apply_patch_call_output: refusal('defined by OpenAI'),
    mcp_list_tools: providerTool,
    mcp_approval_request: providerTool,
    mcp_approval_response: providerTool,
    mcp_call: providerTool,
    program: providerTool,
    program_output: providerTool,
  },
};

const breakpoint = hint('a mark of a cache');

export const partShape: ObjectShape = {
  name: 'content part',
  places: /^input\[\]\.(?:content|output|summary)\[\]$/,
  kinds: {
    input_text: memberRules({
      type: mapped('`text`'),
      text: carried(),
      prompt_cache_breakpoint: breakpoint,
    }),
    output_text: memberRules({
      type: mapped('`text`'),
      text: carried(),
      annotations: implied('cites what the text says'),
      logprobs: implied(),
    }),
    text: memberRules({ type: carried(), text: carried() }),
    refusal: memberRules({ type: mapped('`text`'), refusal: mapped('`text`') }),
    summary_text: memberRules({ type: implied(), text: mapped('reasoning') }),
    reasoning_text: memberRules({ type: implied(), text: mapped('reasoning') }),
    input_image: memberRules({
      type: mapped('`image_url`'),
      image_url: mapped('`image_url.url`'),
      detail: carried(),
      file_id: refusal('a file stored at OpenAI'),
      prompt_cache_breakpoint: breakpoint,
    }),
    input_file: memberRules({
      type: mapped('`file`'),
      file_data: carried(),
      filename: carried(),
      detail: hint(),
      file_id: refusal('a file stored at OpenAI'),
      file_url: refusal('chats have no files by URL'),
      prompt_cache_breakpoint: breakpoint,
    }),
    input_audio: memberRules({ type: carried(), input_audio: carried() }),
  },
};

const deferral = {
  allowed_callers: refusal('', [['direct']]),
  async: hint('', [false]),
  defer_loading: hint('all tools are in the request', [false]),
};

export const toolShape: ObjectShape = {
  name: 'tool',
  places: /^(?:input\[\]\.)?tools\[\](?:\.tools\[\])?$/,
  kinds: {
    function: memberRules({
      type: carried(),
      name: mapped('`function.name`'),
      description: mapped('`function.description`'),
      parameters: mapped('`function.parameters`'),
      strict: mapped('`function.strict`'),
      output_schema: hint(),
      ...deferral,
    }),
    custom: memberRules({
      type: mapped('a function with one text, `input`; its calls are custom again'),
      name: mapped('`function.name`'),
      description: mapped('`function.description`'),
      format: mapped('a grammar is described in `description`, and left out as a hint'),
      ...deferral,
    }),
    namespace: memberRules({
      type: mapped('its tools, with its name before theirs'),
      name: mapped('`NAMESPACE__TOOL`'),
      description: mapped('before the descriptions of its tools'),
      tools: mapped('`tools`'),
    }),
    tool_search: memberRules({
      type: mapped('a function, if the client executes it'),
      execution: mapped('`client`; else a hint, because all tools are in the request'),
      description: mapped('`function.description`'),
      parameters: mapped('`function.parameters`'),
    }),
    apply_patch: refusal('defined by OpenAI'),
    shell: refusal('defined by OpenAI'),
    local_shell: refusal('defined by OpenAI'),
    computer: refusal('defined by OpenAI'),
    computer_use_preview: refusal('defined by OpenAI'),
    code_interpreter: providerTool,
    file_search: providerTool,
    image_generation: generalTool,
    mcp: providerTool,
    programmatic_tool_calling: providerTool,
    web_search: generalTool,
    web_search_2025_08_26: generalTool,
    web_search_preview: generalTool,
    web_search_preview_2025_03_11: generalTool,
  },
};

export const choiceShape: ObjectShape = {
  name: 'tool choice',
  places: /^tool_choice$/,
  kinds: {
    function: memberRules({ type: carried(), name: mapped('`function.name`') }),
    custom: memberRules({ type: mapped('`function`'), name: mapped('`function.name`') }),
    allowed_tools: refusal(),
    apply_patch: refusal(),
    shell: refusal(),
    mcp: refusal(),
    programmatic_tool_calling: refusal(),
    code_interpreter: refusal(),
    computer: refusal(),
    computer_use: refusal(),
    computer_use_preview: refusal(),
    file_search: refusal(),
    image_generation: refusal(),
    web_search_preview: refusal(),
    web_search_preview_2025_03_11: refusal(),
  },
};

export const textShape: ObjectShape = {
  name: 'text',
  places: /^text$/,
  kinds: { '': memberRules({ format: mapped('`response_format`'), verbosity: openAiOnly }) },
};

export const formatShape: ObjectShape = {
  name: 'text format',
  places: /^text\.format$/,
  kinds: {
    text: memberRules({ type: implied() }),
    json_object: memberRules({ type: carried() }),
    json_schema: memberRules({
      type: carried(),
      name: mapped('`json_schema.name`'),
      description: mapped('`json_schema.description`'),
      schema: mapped('`json_schema.schema`'),
      strict: mapped('`json_schema.strict`'),
    }),
  },
};

export const reasoningShape: ObjectShape = {
  name: 'reasoning',
  places: /^reasoning$/,
  kinds: {
    '': memberRules({
      effort: mapped('`reasoning_effort`; a hint for models that do not reason'),
      summary: implied('reasoning is returned where the provider sends it'),
      generate_summary: implied('as `summary`'),
      context: hint(),
      mode: hint(),
    }),
  },
};

export const responseRules: FormatRules = {
  from: 'responses',
  to: 'chat',
  shapes: [
    requestShape,
    itemShape,
    partShape,
    toolShape,
    choiceShape,
    textShape,
    formatShape,
    reasoningShape,
  ],
};
