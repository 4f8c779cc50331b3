/** Selects the translation between the format of a caller and that of a provider. */
import type { FormatName } from '../../model/services/provider-addresses.ts';
import { OpenAiEvents } from '../messages/anthropic-events-to-openai.ts';
import { openAiRequest } from '../messages/anthropic-request-to-openai.ts';
import { openAiError, openAiResponse } from '../messages/anthropic-response-to-openai.ts';
import { AnthropicEvents } from '../messages/openai-events-to-anthropic.ts';
import { anthropicRequest } from '../messages/openai-request-to-anthropic.ts';
import { anthropicError, anthropicResponse } from '../messages/openai-response-to-anthropic.ts';
import { ResponseEvents } from '../responses/chat-events-to-responses.ts';
import { responseError, responseFromChat } from '../responses/chat-response-to-responses.ts';
import { chatRequest } from '../responses/responses-request-to-chat.ts';
import { ChainedEvents } from '../translation/chained-events.ts';
import type { Translation } from '../translation/translation.ts';

/** From OpenAI chat to Anthropic messages. */
const chatToAnthropic: Translation = {
  pathOf: () => '/messages',
  request: anthropicRequest,
  response: (body, { now }) => openAiResponse(body, now),
  error: openAiError,
  events: (about) => new OpenAiEvents(about),
};

/** From Anthropic messages to OpenAI chat. */
const messagesToOpenAi: Translation = {
  pathOf: () => '/chat/completions',
  request: openAiRequest,
  response: anthropicResponse,
  error: anthropicError,
  events: ({ likelyInputTokens = 0 }) => new AnthropicEvents(likelyInputTokens),
};

/** From OpenAI responses to OpenAI chat. */
const responsesToChat: Translation = {
  pathOf: () => '/chat/completions',
  request: chatRequest,
  response: (body, { response }) => responseFromChat(body, response!),
  error: responseError,
  events: ({ response }) => new ResponseEvents(response!),
};

/** From OpenAI responses to Anthropic messages, through a chat. */
const responsesToAnthropic: Translation = {
  pathOf: chatToAnthropic.pathOf,
  request: (body, terms) => chatToAnthropic.request(responsesToChat.request(body, terms), terms),
  response: (body, about) => responsesToChat.response(chatToAnthropic.response(body, about), about),
  error: responseError,
  events: (about) =>
    new ChainedEvents(
      chatToAnthropic.events({ ...about, wantsUsage: true }),
      responsesToChat.events(about),
    ),
};

/**
 * Null when the provider has the format of the caller; `path` is below `/v1`. Without `hasResponses`, responses are
 * made of chats.
 */
export function translationFor(
  path: string,
  dialect: FormatName,
  hasResponses = true,
): Translation | null {
  if (dialect === 'converse') return null;
  if (path === '/chat/completions') return dialect === 'anthropic' ? chatToAnthropic : null;
  if (path === '/messages') return dialect === 'anthropic' ? null : messagesToOpenAi;
  if (path !== '/responses' || hasResponses) return null;
  return dialect === 'anthropic' ? responsesToAnthropic : responsesToChat;
}
