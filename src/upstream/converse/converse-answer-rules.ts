/** States what becomes of each member of an answer of Converse, whole or streamed, that is translated to a chat. */
import {
  carried,
  type FormatRules,
  hint,
  implied,
  mapped,
  memberRules,
  type ObjectShape,
} from '../documents/member-rules.ts';

const ofSdk = implied('the SDK does not receive it');
const fault = mapped('an error event');
const noMedia = hint('models return none');

const responseShape: ObjectShape = {
  name: 'response or event',
  places: /^$/,
  kinds: {
    '': memberRules({
      output: mapped('`choices`'),
      stopReason: mapped('`finish_reason`'),
      usage: mapped('`usage`'),
      metrics: hint(),
      additionalModelResponseFields: carried('beside the usage'),
      trace: carried('beside the usage'),
      performanceConfig: hint(),
      serviceTier: hint('priced and logged by the gateway'),
      messageStart: mapped('the first chunk'),
      contentBlockStart: mapped('a delta of `tool_calls`'),
      contentBlockDelta: mapped('a delta'),
      contentBlockStop: mapped('ends the arguments of a call'),
      messageStop: mapped('`finish_reason`'),
      metadata: mapped('the last chunk'),
      internalServerException: fault,
      modelStreamErrorException: fault,
      validationException: fault,
      throttlingException: fault,
      serviceUnavailableException: fault,
      $unknown: ofSdk,
    }),
  },
};

const outputShape: ObjectShape = {
  name: 'output',
  places: /^output$/,
  kinds: { '': memberRules({ message: mapped('`message`'), $unknown: ofSdk }) },
};

const messageShape: ObjectShape = {
  name: 'message',
  places: /^output\.message$|^messageStart$/,
  kinds: { '': memberRules({ role: carried(), content: mapped('`content`, `tool_calls`') }) },
};

const blockShape: ObjectShape = {
  name: 'content block',
  places: /^output\.message\.content\[\]$/,
  kinds: {
    '': memberRules({
      text: mapped('`content`'),
      toolUse: mapped('`tool_calls`'),
      reasoningContent: mapped('`reasoning_content`, `reasoning_details`'),
      citationsContent: mapped('`content`; the citations are left out'),
      image: noMedia,
      document: noMedia,
      video: noMedia,
      audio: noMedia,
      toolResult: hint('tools of Bedrock are not in requests'),
      guardContent: noMedia,
      cachePoint: noMedia,
      searchResult: noMedia,
      toolAddition: noMedia,
      toolRemoval: noMedia,
      $unknown: ofSdk,
    }),
  },
};

const eventShape: ObjectShape = {
  name: 'event of a block or of the end',
  places: /^(?:contentBlock(?:Start|Delta|Stop)|messageStop|metadata)$/,
  kinds: {
    '': memberRules({
      contentBlockIndex: mapped('`tool_calls[].index`'),
      start: mapped('a delta'),
      delta: mapped('a delta'),
      stopReason: mapped('`finish_reason`'),
      additionalModelResponseFields: hint(),
      usage: mapped('`usage`'),
      metrics: hint(),
      trace: carried('beside the usage'),
      performanceConfig: hint(),
      serviceTier: hint('priced and logged by the gateway'),
    }),
  },
};

const deltaShape: ObjectShape = {
  name: 'start or delta',
  places: /^contentBlock(?:Start\.start|Delta\.delta)$/,
  kinds: {
    '': memberRules({
      text: mapped('`content`'),
      toolUse: mapped('`tool_calls`'),
      reasoningContent: mapped('`reasoning_content`, `reasoning_details`'),
      toolResult: hint('tools of Bedrock are not in requests'),
      citation: hint('chats cite pages of the web only'),
      image: noMedia,
      $unknown: ofSdk,
    }),
  },
};

const useShape: ObjectShape = {
  name: 'tool use',
  places: /\.toolUse$/,
  kinds: {
    '': memberRules({
      toolUseId: mapped('`id`'),
      name: mapped('`function.name`'),
      input: mapped('`function.arguments`'),
      type: implied(),
    }),
  },
};

const reasoningShape: ObjectShape = {
  name: 'reasoning',
  places: /\.reasoningContent$/,
  kinds: {
    '': memberRules({
      reasoningText: mapped('`reasoning_content`, `reasoning_details`'),
      text: mapped('`reasoning_content`, `reasoning_details`'),
      signature: mapped('`reasoning_details`'),
      redactedContent: mapped('`reasoning_details`'),
      $unknown: ofSdk,
    }),
  },
};

const reasoningTextShape: ObjectShape = {
  name: 'text of the reasoning',
  places: /\.reasoningText$/,
  kinds: {
    '': memberRules({
      text: mapped('`reasoning_content`, `reasoning_details`'),
      signature: mapped('`reasoning_details`'),
    }),
  },
};

const citationsShape: ObjectShape = {
  name: 'text with citations',
  places: /\.citationsContent$/,
  kinds: {
    '': memberRules({
      content: mapped('`content`'),
      citations: hint('chats cite pages of the web only'),
    }),
  },
};

const citedShape: ObjectShape = {
  name: 'cited text',
  places: /\.citationsContent\.content\[\]$/,
  kinds: { '': memberRules({ text: mapped('`content`'), $unknown: ofSdk }) },
};

const usageShape: ObjectShape = {
  name: 'usage',
  places: /(?:^|^metadata\.)usage$/,
  kinds: {
    '': memberRules({
      inputTokens: mapped('`prompt_tokens`, with cached ones'),
      outputTokens: mapped('`completion_tokens`'),
      totalTokens: implied('the sum'),
      cacheReadInputTokens: mapped('`prompt_tokens_details.cached_tokens`'),
      cacheWriteInputTokens: mapped('`prompt_tokens_details.cache_write_tokens`'),
      cacheDetails: implied('its sum is carried'),
    }),
  },
};

export const converseAnswerRules: FormatRules = {
  from: 'an answer of Converse',
  to: 'a chat',
  shapes: [
    responseShape,
    outputShape,
    messageShape,
    blockShape,
    eventShape,
    deltaShape,
    useShape,
    reasoningShape,
    reasoningTextShape,
    citationsShape,
    citedShape,
    usageShape,
  ],
};
