/** Lists the translations between chats and Gemini's format. */
import { outputLimitName } from '../../model/services/provider-addresses.ts';
import { GeminiEvents } from '../gemini/chat-events-to-gemini.ts';
import { geminiRequest } from '../gemini/chat-request-to-gemini.ts';
import { geminiResponse } from '../gemini/chat-response-to-gemini.ts';
import { embeddingsRequest, manyEmbeddings, oneEmbedding } from '../gemini/embeddings.ts';
import { geminiError } from '../gemini/gemini-errors.ts';
import { ChatEvents } from '../gemini/gemini-events-to-chat.ts';
import { chatFromGemini } from '../gemini/gemini-request-to-chat.ts';
import { chatResponse } from '../gemini/gemini-response-to-chat.ts';
import type { Translation } from '../translation/translation.ts';

/** From OpenAI chat to Gemini. */
export const chatToGemini: Translation = {
  pathOf: ({ stream }) =>
    `/v1beta/models:${stream === true ? 'streamGenerateContent' : 'generateContent'}`,
  request: geminiRequest,
  response: (body, { now }) => chatResponse(body, now),
  error: ({ message, type }) => ({
    error: { message, type: type ?? 'api_error', param: null, code: null },
  }),
  events: (about) => new ChatEvents(about),
};

/** From Gemini to OpenAI chat. */
export const geminiToChat: Translation = {
  pathOf: () => '/chat/completions',
  request: (body, terms) =>
    chatFromGemini(body, terms, {
      maxName: outputLimitName(terms.service),
      takesTopK: false,
      takesOneSampling: false,
    }),
  response: geminiResponse,
  error: geminiError,
  events: () => new GeminiEvents(),
};

/** From Gemini to the chat that is translated to Anthropic messages. */
export const geminiToAnthropicChat: Translation = {
  ...geminiToChat,
  request: (body, terms) =>
    chatFromGemini(body, terms, {
      maxName: 'max_completion_tokens',
      takesTopK: true,
      takesOneSampling: true,
    }),
};

/** From one embedding of Gemini's form to OpenAI's. */
export const embedToOpenAi: Translation = {
  pathOf: () => '/embeddings',
  request: embeddingsRequest,
  response: oneEmbedding,
  error: geminiError,
  events: () => new GeminiEvents(),
};

/** From several embeddings of Gemini's form to OpenAI's. */
export const batchEmbedToOpenAi: Translation = { ...embedToOpenAi, response: manyEmbeddings };
