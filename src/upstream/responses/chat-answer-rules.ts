/** States what becomes of each member of an answer of a chat that is translated to a response. */
import { chatAnswerRulesTo } from '../documents/chat-answer-rules.ts';
import {
  carried,
  hint,
  implied,
  mapped,
  memberRules,
  type ObjectShape,
} from '../documents/member-rules.ts';

const annotationShape: ObjectShape = {
  name: 'annotation',
  places: /\.annotations\[\]$/,
  kinds: {
    url_citation: memberRules({
      type: carried(),
      url_citation: mapped('its members, beside the type'),
    }),
  },
};

const citedPageShape: ObjectShape = {
  name: 'cited page',
  places: /\.annotations\[\]\.url_citation$/,
  kinds: {
    '': memberRules({
      url: carried(),
      title: carried(),
      start_index: carried(),
      end_index: carried(),
    }),
  },
};

export const chatAnswerToResponsesRules = chatAnswerRulesTo(
  'responses',
  {
    completion: {
      id: implied('a response has an id of the gateway'),
      model: implied('a response repeats the model of its request'),
      choices: mapped('`output`: the first one'),
      usage: mapped('`usage`'),
    },
    choice: {
      index: implied('requests demand one choice'),
      message: mapped('items'),
      delta: mapped('events of items'),
      finish_reason: mapped('`status`, `incomplete_details`'),
      logprobs: hint('requests demand none'),
    },
    reply: {
      content: mapped('`output_text`'),
      refusal: mapped('`refusal`'),
      tool_calls: mapped('`function_call`, `custom_tool_call`, `tool_search_call`'),
      annotations: mapped('`annotations`'),
    },
    call: {
      index: mapped('`output_index`'),
      id: mapped('`call_id`'),
      function: mapped('`name`, `arguments`'),
    },
    called: { name: carried(), arguments: mapped('`arguments`, or `input` of a custom tool') },
    usage: {
      prompt_tokens: mapped('`input_tokens`'),
      completion_tokens: mapped('`output_tokens`'),
      total_tokens: carried(),
      prompt_tokens_details: mapped('`input_tokens_details`'),
      completion_tokens_details: mapped('`output_tokens_details`'),
    },
    details: {
      cached_tokens: carried(),
      cache_write_tokens: carried(),
      reasoning_tokens: carried(),
    },
  },
  [annotationShape, citedPageShape],
);
