/** States what becomes of each member of an answer of a chat that is translated to Gemini's form. */
import { chatAnswerRulesTo } from '../documents/chat-answer-rules.ts';
import { carried, hint, implied, mapped } from '../documents/member-rules.ts';

export const chatAnswerToGeminiRules = chatAnswerRulesTo("Gemini's form", {
  completion: {
    id: mapped('`responseId`'),
    model: mapped('`modelVersion`'),
    choices: mapped('`candidates`'),
    usage: mapped('`usageMetadata`'),
  },
  choice: {
    index: carried(),
    message: mapped('`content`'),
    delta: mapped('`content`'),
    finish_reason: mapped('`finishReason`'),
    logprobs: mapped('`logprobsResult`'),
  },
  reply: {
    content: mapped('a part with `text`'),
    refusal: mapped('a part with `text`, and `finishReason` `SAFETY`'),
    tool_calls: mapped('`functionCall`'),
    annotations: hint('Gemini cites no addresses'),
  },
  call: {
    index: mapped('the order of the parts'),
    id: carried(),
    function: mapped('`name`, `args`'),
  },
  called: { name: carried(), arguments: mapped('`args`') },
  usage: {
    prompt_tokens: mapped('`promptTokenCount`'),
    completion_tokens: mapped('`candidatesTokenCount`, without reasoning'),
    total_tokens: implied('the sum'),
    prompt_tokens_details: mapped('`cachedContentTokenCount`'),
    completion_tokens_details: mapped('`thoughtsTokenCount`'),
  },
  details: {
    cached_tokens: mapped('`cachedContentTokenCount`'),
    cache_write_tokens: implied('in the sums'),
    reasoning_tokens: mapped('`thoughtsTokenCount`'),
  },
});
