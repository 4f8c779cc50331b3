/** States what becomes of each member of an answer of Anthropic, whole or streamed, that is translated to a chat. */
import {
  carried,
  type FormatRules,
  hint,
  implied,
  type MemberRules,
  mapped,
  memberRules,
  type ObjectShape,
} from '../documents/member-rules.ts';

const providerResult = hint('a tool that Anthropic ran; the text says what it found');

function messageMembers(content: string): MemberRules {
  return memberRules({
    id: carried(),
    type: implied(),
    role: carried(),
    model: carried(),
    content: mapped(content),
    stop_reason: mapped('`finish_reason`'),
    stop_sequence: hint('a chat does not name it'),
    stop_details: hint(),
    container: hint(),
    context_management: hint(),
    diagnostics: hint(),
    input_transformations: hint(),
    usage: mapped('`usage`'),
  });
}

const messageShape: ObjectShape = {
  name: 'message',
  places: /^(?:message)?$/,
  kinds: {
    message: messageMembers('`content`, `tool_calls`, reasoning'),
    message_start: memberRules({ type: implied(), message: mapped('the first chunk') }),
    content_block_start: memberRules({
      type: implied(),
      index: mapped('`tool_calls[].index`'),
      content_block: mapped('a delta'),
    }),
    content_block_delta: memberRules({
      type: implied(),
      index: mapped('`tool_calls[].index`'),
      delta: mapped('a delta'),
    }),
    content_block_stop: memberRules({
      type: implied(),
      index: mapped('ends the arguments of a call'),
    }),
    message_delta: memberRules({
      type: implied(),
      delta: mapped('`finish_reason`'),
      usage: mapped('the last chunk'),
      input_transformations: hint(),
      context_management: hint(),
    }),
    message_stop: memberRules({ type: mapped('`[DONE]`') }),
  },
};

const answerBlockShape: ObjectShape = {
  name: 'content block',
  places: /(?:^|\.)content\[\]$|^content_block$/,
  kinds: {
    text: memberRules({
      type: implied(),
      text: mapped('`content`'),
      citations: mapped('`annotations` for pages of the web, else left out'),
    }),
    thinking: memberRules({
      type: implied(),
      thinking: mapped('`reasoning_content`, `reasoning_details`'),
      signature: mapped('`reasoning_details`'),
    }),
    redacted_thinking: memberRules({ type: implied(), data: mapped('`reasoning_details`') }),
    tool_use: memberRules({
      type: mapped('`tool_calls`'),
      id: carried(),
      name: mapped('`function.name`'),
      input: mapped('`function.arguments`'),
      caller: implied(),
      toolset_name: implied(),
    }),
    server_tool_use: providerResult,
    web_search_tool_result: providerResult,
    web_fetch_tool_result: providerResult,
    code_execution_tool_result: providerResult,
    bash_code_execution_tool_result: providerResult,
    text_editor_code_execution_tool_result: providerResult,
    tool_search_tool_result: providerResult,
    advisor_tool_result: providerResult,
    mcp_tool_use: providerResult,
    mcp_tool_result: providerResult,
    mcp_tool_listing: providerResult,
    container_upload: hint(),
    compaction: hint('requests leave out what demands one'),
    fallback: hint('`model` names the model that answered'),
  },
};

const deltaShape: ObjectShape = {
  name: 'delta',
  places: /^delta$/,
  kinds: {
    text_delta: memberRules({ type: implied(), text: mapped('`content`') }),
    thinking_delta: memberRules({
      type: implied(),
      thinking: mapped('`reasoning_content`, `reasoning_details`'),
      estimated_tokens: hint(),
    }),
    signature_delta: memberRules({ type: implied(), signature: mapped('`reasoning_details`') }),
    citations_delta: memberRules({ type: implied(), citation: mapped('`annotations`') }),
    input_json_delta: memberRules({
      type: implied(),
      partial_json: mapped('`function.arguments`'),
    }),
    compaction_delta: hint('requests leave out what demands one'),
    '': memberRules({
      stop_reason: mapped('`finish_reason`'),
      stop_sequence: hint('a chat does not name it'),
      stop_details: hint(),
      container: hint(),
    }),
  },
};

const citationShape: ObjectShape = {
  name: 'citation',
  places: /citations?(?:\[\])?$/,
  kinds: {
    web_search_result_location: memberRules({
      type: mapped('`url_citation`'),
      url: carried(),
      title: carried(),
      cited_text: implied('the place in the answer is named instead'),
      encrypted_index: hint(),
    }),
    char_location: hint('chats cite pages of the web only'),
    content_block_location: hint('chats cite pages of the web only'),
    page_location: hint('chats cite pages of the web only'),
    search_result_location: hint('chats cite pages of the web only'),
  },
};

const answerUsageShape: ObjectShape = {
  name: 'usage',
  places: /(?:^|\.)usage$/,
  kinds: {
    '': memberRules({
      input_tokens: mapped('`prompt_tokens`, with cached ones'),
      output_tokens: mapped('`completion_tokens`'),
      cache_read_input_tokens: mapped('`prompt_tokens_details.cached_tokens`'),
      cache_creation_input_tokens: mapped('`prompt_tokens_details.cache_write_tokens`'),
      output_tokens_details: mapped('`completion_tokens_details.reasoning_tokens`'),
      cache_creation: implied('its sum is carried'),
      inference_geo: hint(),
      server_tool_use: hint('priced and logged by the gateway'),
      service_tier: hint('priced and logged by the gateway'),
      speed: hint(),
      iterations: hint(),
      fallback_credit: hint(),
    }),
  },
};

const usageDetailsShape: ObjectShape = {
  name: 'details of the output',
  places: /usage\.output_tokens_details$/,
  kinds: { '': memberRules({ thinking_tokens: mapped('`reasoning_tokens`') }) },
};

export const messageAnswerRules: FormatRules = {
  from: 'an answer of messages',
  to: 'a chat',
  shapes: [
    messageShape,
    answerBlockShape,
    deltaShape,
    citationShape,
    answerUsageShape,
    usageDetailsShape,
  ],
};
