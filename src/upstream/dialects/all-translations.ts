/** Selects the translation between the format of a caller and that of a provider. */
import { type DialectName, openAiModelServices } from '../../model/services/provider-addresses.ts';
import { OpenAiEvents } from './anthropic-events-to-openai.ts';
import { openAiRequest } from './anthropic-request-to-openai.ts';
import { openAiError, openAiResponse } from './anthropic-response-to-openai.ts';
import { ChainedEvents } from './chained-events.ts';
import { ResponseEvents } from './chat-events-to-responses.ts';
import { responseError, responseFromChat } from './chat-response-to-responses.ts';
import { AnthropicEvents } from './openai-events-to-anthropic.ts';
import { anthropicRequest } from './openai-request-to-anthropic.ts';
import { anthropicError, anthropicResponse } from './openai-response-to-anthropic.ts';
import { chatRequest } from './responses-request-to-chat.ts';
import type { Translation } from './translation.ts';

/** From OpenAI chat to Anthropic messages. */
const chatToAnthropic: Translation = {
  path: '/messages',
  request: anthropicRequest,
  response: (body, { now }) => openAiResponse(body, now),
  error: openAiError,
  events: (about) => new OpenAiEvents(about),
};

/** From Anthropic messages to OpenAI chat. */
const messagesToOpenAi: Translation = {
  path: '/chat/completions',
  request: (body, service) =>
    openAiRequest(body, openAiModelServices.has(service) ? 'max_completion_tokens' : 'max_tokens'),
  response: anthropicResponse,
  error: anthropicError,
  events: () => new AnthropicEvents(),
};

/** From OpenAI responses to OpenAI chat. */
const responsesToChat: Translation = {
  path: '/chat/completions',
  request: (body, service) =>
    chatRequest(body, openAiModelServices.has(service) ? 'max_completion_tokens' : 'max_tokens'),
  response: (body, { response }) => responseFromChat(body, response!),
  error: responseError,
  events: ({ response }) => new ResponseEvents(response!),
};

/** From OpenAI responses to Anthropic messages, through a chat. */
const responsesToAnthropic: Translation = {
  path: chatToAnthropic.path,
  request: (body, service) =>
    chatToAnthropic.request(responsesToChat.request(body, service), service),
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
  dialect: DialectName,
  hasResponses = true,
): Translation | null {
  if (path === '/chat/completions') return dialect === 'anthropic' ? chatToAnthropic : null;
  if (path === '/messages') return dialect === 'anthropic' ? null : messagesToOpenAi;
  if (path !== '/responses' || hasResponses) return null;
  return dialect === 'anthropic' ? responsesToAnthropic : responsesToChat;
}
