/** States what becomes of each member of an answer in Gemini's form that is translated to a chat. */
import {
  carried,
  type FormatRules,
  hint,
  implied,
  mapped,
  memberRules,
  type ObjectShape,
} from '../documents/member-rules.ts';

const ofSdk = implied('the SDK adds it');
const ranByGoogle = mapped('a code block in `content`');

const responseShape: ObjectShape = {
  name: 'response or event',
  places: /^$/,
  kinds: {
    '': memberRules({
      candidates: mapped('`choices`'),
      promptFeedback: mapped('`refusal`, if it blocks'),
      usageMetadata: mapped('`usage`'),
      modelVersion: mapped('`model`'),
      responseId: mapped('`id`'),
      createTime: implied('`created` is the time of the gateway'),
      modelStatus: hint(),
      initialPromptTokenCount: ofSdk,
      sdkHttpResponse: ofSdk,
      automaticFunctionCallingHistory: ofSdk,
      text: ofSdk,
      data: ofSdk,
      functionCalls: ofSdk,
      executableCode: ofSdk,
      codeExecutionResult: ofSdk,
    }),
  },
};

const candidateShape: ObjectShape = {
  name: 'candidate',
  places: /^candidates\[\]$/,
  kinds: {
    '': memberRules({
      index: carried(),
      content: mapped('`message`, `delta`'),
      finishReason: mapped('`finish_reason`'),
      finishMessage: mapped('`refusal`'),
      logprobsResult: mapped('`logprobs`'),
      avgLogprobs: hint(),
      tokenCount: implied('in the usage'),
      citationMetadata: hint(),
      groundingMetadata: hint('tools of Google are not in requests'),
      urlContextMetadata: hint('tools of Google are not in requests'),
      safetyRatings: hint(),
      continuationToken: hint(),
    }),
  },
};

const contentShape: ObjectShape = {
  name: 'content',
  places: /^candidates\[\]\.content$/,
  kinds: { '': memberRules({ role: implied('`assistant`'), parts: mapped('`content`') }) },
};

const partShape: ObjectShape = {
  name: 'part',
  places: /\.parts\[\]$/,
  kinds: {
    '': memberRules({
      text: mapped('`content`, or `reasoning_content` for a thought'),
      thought: mapped('`reasoning_content`, `reasoning_details`'),
      thoughtSignature: mapped('`reasoning_details`, or `extra_content` of a call'),
      functionCall: mapped('`tool_calls`'),
      inlineData: mapped('`images`'),
      executableCode: ranByGoogle,
      codeExecutionResult: ranByGoogle,
      fileData: hint('models return none'),
      functionResponse: hint('models return none'),
      toolCall: hint('tools of Google are not in requests'),
      toolResponse: hint('tools of Google are not in requests'),
      audioTranscription: hint('requests demand no sound'),
      speechMetadata: hint('requests demand no sound'),
      videoMetadata: hint(),
      mediaResolution: hint(),
      mediaProcessing: hint(),
      partMetadata: hint(),
    }),
  },
};

const geminiCallShape: ObjectShape = {
  name: 'function call',
  places: /\.functionCall$/,
  kinds: {
    '': memberRules({
      id: carried(),
      name: mapped('`function.name`'),
      args: mapped('`function.arguments`'),
      partialArgs: hint('requests demand whole calls'),
      willContinue: hint('requests demand whole calls'),
    }),
  },
};

const inlineShape: ObjectShape = {
  name: 'inline data',
  places: /\.inlineData$/,
  kinds: {
    '': memberRules({
      data: mapped('a data URL'),
      mimeType: mapped('a data URL'),
      displayName: hint(),
    }),
  },
};

const codeShape: ObjectShape = {
  name: 'code and its result',
  places: /\.(?:executableCode|codeExecutionResult)$/,
  kinds: {
    '': memberRules({
      code: mapped('a code block'),
      output: mapped('a code block'),
      language: implied('Python'),
      outcome: implied('in the output'),
      id: implied(),
    }),
  },
};

const feedbackShape: ObjectShape = {
  name: 'feedback on the prompt',
  places: /^promptFeedback$/,
  kinds: {
    '': memberRules({
      blockReason: mapped('`refusal`'),
      blockReasonMessage: mapped('`refusal`'),
      safetyRatings: hint(),
    }),
  },
};

const geminiUsageShape: ObjectShape = {
  name: 'usage',
  places: /^usageMetadata$/,
  kinds: {
    '': memberRules({
      promptTokenCount: mapped('`prompt_tokens`'),
      toolUsePromptTokenCount: mapped('`prompt_tokens`'),
      candidatesTokenCount: mapped('`completion_tokens`'),
      thoughtsTokenCount: mapped('`completion_tokens`, and `reasoning_tokens` of its details'),
      cachedContentTokenCount: mapped('`prompt_tokens_details.cached_tokens`'),
      totalTokenCount: implied('the sum'),
      initialPromptTokenCount: implied('in `promptTokenCount`'),
      promptTokensDetails: hint('priced by the gateway'),
      cacheTokensDetails: hint('priced by the gateway'),
      candidatesTokensDetails: hint('priced by the gateway'),
      toolUsePromptTokensDetails: hint('priced by the gateway'),
      trafficType: hint(),
    }),
  },
};

export const geminiAnswerRules: FormatRules = {
  from: "an answer in Gemini's form",
  to: 'a chat',
  shapes: [
    responseShape,
    candidateShape,
    contentShape,
    partShape,
    geminiCallShape,
    inlineShape,
    codeShape,
    feedbackShape,
    geminiUsageShape,
  ],
};
