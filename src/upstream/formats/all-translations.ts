/** Selects the translation between the format of a caller and that of a provider. */
import { converseCountPath, conversePath } from '../../model/services/bedrock-models.ts';
import type { FormatName } from '../../model/services/provider-addresses.ts';
import { ConverseEvents } from '../converse/chat-events-to-converse.ts';
import { converseRequest } from '../converse/chat-request-to-converse.ts';
import { converseError, converseResponse } from '../converse/chat-response-to-converse.ts';
import { ConverseChatEvents } from '../converse/converse-events-to-chat.ts';
import { chatFromConverse } from '../converse/converse-request-to-chat.ts';
import { chatError, chatOfConverse } from '../converse/converse-response-to-chat.ts';
import { OpenAiEvents } from '../messages/anthropic-events-to-openai.ts';
import { openAiRequest } from '../messages/anthropic-request-to-openai.ts';
import { openAiError, openAiResponse } from '../messages/anthropic-response-to-openai.ts';
import { AnthropicEvents } from '../messages/openai-events-to-anthropic.ts';
import { anthropicRequest } from '../messages/openai-request-to-anthropic.ts';
import { anthropicError, anthropicResponse } from '../messages/openai-response-to-anthropic.ts';
import { ResponseEvents } from '../responses/chat-events-to-responses.ts';
import { responseError, responseFromChat } from '../responses/chat-response-to-responses.ts';
import { chatRequest } from '../responses/responses-request-to-chat.ts';
import { chainTranslations } from '../translation/chained-translation.ts';
import type { Translation } from '../translation/translation.ts';
import { chatToGemini, geminiToAnthropicChat, geminiToChat } from './gemini-translations.ts';

type Json = Readonly<Record<string, unknown>>;

/** From OpenAI chat to Anthropic messages. */
const chatToAnthropic: Translation = {
  pathOf: () => '/messages',
  request: anthropicRequest,
  response: openAiResponse,
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
const responsesToAnthropic = chainTranslations(responsesToChat, chatToAnthropic);
const messagesToGemini = chainTranslations(messagesToOpenAi, chatToGemini);
const responsesToGemini = chainTranslations(responsesToChat, chatToGemini);
const geminiToAnthropic = chainTranslations(geminiToAnthropicChat, chatToAnthropic);

/** From OpenAI chat to Converse of Bedrock. */
const chatToConverse: Translation = {
  pathOf: () => conversePath,
  request: converseRequest,
  response: chatOfConverse,
  error: chatError,
  events: (about) => new ConverseChatEvents(about),
};

/** From Converse of Bedrock to OpenAI chat. */
const converseToChat: Translation = {
  pathOf: () => '/chat/completions',
  request: chatFromConverse,
  response: converseResponse,
  error: converseError,
  events: () => new ConverseEvents(),
};

const converseToAnthropic = chainTranslations(converseToChat, chatToAnthropic);

/** From a count of tokens of Converse to one of messages; neither has a limit of the output. */
const countOfConverse: Translation = {
  ...converseToAnthropic,
  pathOf: () => '/messages/count_tokens',
  request: (body, terms) => {
    const { max_tokens: _, ...counted } = converseToAnthropic.request(body, terms);
    return counted;
  },
  response: (body) => body as Json,
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
  const translations = translationsByPath.get(path) ?? none;
  if (path === '/responses' && hasResponses) return null;
  return translations[dialect] ?? null;
}

type ByDialect = Readonly<Partial<Record<FormatName, Translation>>>;

const none: ByDialect = {};
const fromGemini: ByDialect = {
  openai: geminiToChat,
  anthropic: geminiToAnthropic,
  converse: chainTranslations(geminiToChat, chatToConverse),
};

/** By canonical path, then by the format of the provider; absent for the same format. */
const translationsByPath: ReadonlyMap<string, ByDialect> = new Map([
  [
    '/chat/completions',
    { anthropic: chatToAnthropic, gemini: chatToGemini, converse: chatToConverse },
  ],
  [
    '/messages',
    {
      openai: messagesToOpenAi,
      gemini: messagesToGemini,
      converse: chainTranslations(messagesToOpenAi, chatToConverse),
    },
  ],
  [
    '/responses',
    {
      openai: responsesToChat,
      anthropic: responsesToAnthropic,
      gemini: responsesToGemini,
      converse: chainTranslations(responsesToChat, chatToConverse),
    },
  ],
  [
    conversePath,
    {
      openai: converseToChat,
      anthropic: converseToAnthropic,
      gemini: chainTranslations(converseToChat, chatToGemini),
    },
  ],
  ['/v1beta/models:generateContent', fromGemini],
  ['/v1beta/models:streamGenerateContent', fromGemini],
  [converseCountPath, { anthropic: countOfConverse }],
]);
