/** States what becomes of each member of an answer of a chat, whole or streamed, that is translated to a message. */
import {
  carried,
  type FormatRules,
  hint,
  implied,
  mapped,
  memberRules,
  type ObjectShape,
} from '../documents/member-rules.ts';

const completionShape: ObjectShape = {
  name: 'completion or chunk',
  places: /^$/,
  kinds: {
    '': memberRules({
      id: carried(),
      object: implied(),
      created: implied(),
      model: carried(),
      choices: mapped('the first one'),
      usage: mapped('`usage`'),
      service_tier: hint('priced and logged by the gateway'),
      system_fingerprint: hint(),
      obfuscation: implied('equalises the sizes of chunks'),
      moderation: hint(),
      metadata: hint(),
    }),
  },
};

const answerChoiceShape: ObjectShape = {
  name: 'choice',
  places: /^choices\[\]$/,
  kinds: {
    '': memberRules({
      index: implied('requests demand one choice'),
      message: mapped('`content`'),
      delta: mapped('events of blocks'),
      finish_reason: mapped('`stop_reason`'),
      logprobs: hint('messages have none'),
    }),
  },
};

const replyShape: ObjectShape = {
  name: 'message or delta',
  places: /^choices\[\]\.(?:message|delta)$/,
  kinds: {
    '': memberRules({
      role: carried(),
      content: mapped('a `text`'),
      refusal: mapped('a `text`, with `stop_reason` `refusal`'),
      tool_calls: mapped('`tool_use`'),
      annotations: hint('messages have no citations by address'),
      audio: hint('requests demand none'),
      function_call: hint('requests demand none'),
    }),
  },
};

const answerCallShape: ObjectShape = {
  name: 'tool call',
  places: /tool_calls\[\]$/,
  kinds: {
    '': memberRules({
      index: mapped('the order of the blocks'),
      id: carried(),
      type: implied(),
      function: mapped('`name`, `input`'),
      custom: hint('requests have functions in place of custom tools'),
    }),
  },
};

const answerFunctionShape: ObjectShape = {
  name: 'called function',
  places: /tool_calls\[\]\.function$/,
  kinds: { '': memberRules({ name: carried(), arguments: mapped('`input`') }) },
};

const chatUsageShape: ObjectShape = {
  name: 'usage',
  places: /^usage$/,
  kinds: {
    '': memberRules({
      prompt_tokens: mapped('`input_tokens`, without cached ones'),
      completion_tokens: mapped('`output_tokens`'),
      total_tokens: mapped('`output_tokens`, where it alone has reasoning'),
      prompt_tokens_details: mapped('`cache_read_input_tokens`, `cache_creation_input_tokens`'),
      completion_tokens_details: mapped('`output_tokens_details`'),
    }),
  },
};

const usagePartsShape: ObjectShape = {
  name: 'details of the usage',
  places: /^usage\.(?:prompt|completion)_tokens_details$/,
  kinds: {
    '': memberRules({
      cached_tokens: mapped('`cache_read_input_tokens`'),
      cache_write_tokens: mapped('`cache_creation_input_tokens`'),
      reasoning_tokens: mapped('`output_tokens_details.thinking_tokens`'),
      audio_tokens: implied('in the sums'),
      text_tokens: implied('in the sums'),
      image_tokens: implied('in the sums'),
      accepted_prediction_tokens: implied('in the sums'),
      rejected_prediction_tokens: implied('in the sums'),
    }),
  },
};

export const chatAnswerRules: FormatRules = {
  from: 'an answer of a chat',
  to: 'messages',
  shapes: [
    completionShape,
    answerChoiceShape,
    replyShape,
    answerCallShape,
    answerFunctionShape,
    chatUsageShape,
    usagePartsShape,
  ],
};
