/** States what becomes of each member of an answer of a chat that is translated to Converse. */
import { chatAnswerRulesTo } from '../documents/chat-answer-rules.ts';
import { carried, hint, implied, mapped } from '../documents/member-rules.ts';

export const chatAnswerToConverseRules = chatAnswerRulesTo('Converse', {
  completion: {
    id: implied('Converse has none'),
    model: implied('Converse has none'),
    choices: mapped('`output.message`: the first one'),
    usage: mapped('`usage`'),
  },
  choice: {
    index: implied('requests demand one choice'),
    message: mapped('`content`'),
    delta: mapped('events of blocks'),
    finish_reason: mapped('`stopReason`'),
    logprobs: hint('Converse has none'),
  },
  reply: {
    content: mapped('a block with `text`'),
    refusal: mapped('a block with `text`, and `stopReason` `content_filtered`'),
    tool_calls: mapped('`toolUse`'),
    annotations: hint('Converse cites no addresses of chats'),
  },
  call: {
    index: mapped('`contentBlockIndex`'),
    id: mapped('`toolUseId`'),
    function: mapped('`name`, `input`'),
  },
  called: { name: carried(), arguments: mapped('`input`') },
  usage: {
    prompt_tokens: mapped('`inputTokens`, without cached ones'),
    completion_tokens: mapped('`outputTokens`'),
    total_tokens: implied('the sum'),
    prompt_tokens_details: mapped('`cacheReadInputTokens`, `cacheWriteInputTokens`'),
    completion_tokens_details: implied('in the sums'),
  },
  details: {
    cached_tokens: mapped('`cacheReadInputTokens`'),
    cache_write_tokens: mapped('`cacheWriteInputTokens`'),
    reasoning_tokens: implied('in the sums'),
  },
});
