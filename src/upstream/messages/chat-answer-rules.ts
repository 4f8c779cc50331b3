/** States what becomes of each member of an answer of a chat that is translated to a message. */
import { chatAnswerRulesTo } from '../documents/chat-answer-rules.ts';
import { carried, hint, implied, mapped } from '../documents/member-rules.ts';

export const chatAnswerRules = chatAnswerRulesTo('messages', {
  completion: {
    id: carried(),
    model: carried(),
    choices: mapped('the first one'),
    usage: mapped('`usage`'),
  },
  choice: {
    index: implied('requests demand one choice'),
    message: mapped('`content`'),
    delta: mapped('events of blocks'),
    finish_reason: mapped('`stop_reason`'),
    logprobs: hint('messages have none'),
  },
  reply: {
    content: mapped('a `text`'),
    refusal: mapped('a `text`, with `stop_reason` `refusal`'),
    tool_calls: mapped('`tool_use`'),
    annotations: hint('messages have no citations by address'),
  },
  call: {
    index: mapped('the order of the blocks'),
    id: carried(),
    function: mapped('`name`, `input`'),
  },
  called: { name: carried(), arguments: mapped('`input`') },
  usage: {
    prompt_tokens: mapped('`input_tokens`, without cached ones'),
    completion_tokens: mapped('`output_tokens`'),
    total_tokens: mapped('`output_tokens`, where it alone has reasoning'),
    prompt_tokens_details: mapped('`cache_read_input_tokens`, `cache_creation_input_tokens`'),
    completion_tokens_details: mapped('`output_tokens_details`'),
  },
  details: {
    cached_tokens: mapped('`cache_read_input_tokens`'),
    cache_write_tokens: mapped('`cache_creation_input_tokens`'),
    reasoning_tokens: mapped('`output_tokens_details.thinking_tokens`'),
  },
});
