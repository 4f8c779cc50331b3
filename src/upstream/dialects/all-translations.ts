/** Knows between which formats what is said is translated, and what of it is asked for where. */
import { type DialectName, openAiModelServices } from '../../model/provider-addresses.ts';
import { openAiAnswer, openAiError } from './anthropic-answer-to-openai.ts';
import { OpenAiEvents } from './anthropic-events-to-openai.ts';
import { openAiRequest } from './anthropic-request-to-openai.ts';
import { anthropicAnswer, anthropicError } from './openai-answer-to-anthropic.ts';
import { AnthropicEvents } from './openai-events-to-anthropic.ts';
import { anthropicRequest } from './openai-request-to-anthropic.ts';
import type { Translation } from './translation.ts';

/** A caller that speaks OpenAI's format of chats, and a provider that speaks Anthropic's. */
const chatToAnthropic: Translation = {
  path: '/messages',
  request: anthropicRequest,
  answer: (body, { now }) => openAiAnswer(body, now),
  error: openAiError,
  events: (about) => new OpenAiEvents(about),
};

/** A caller that speaks Anthropic's format, and a provider that speaks OpenAI's. */
const messagesToOpenAi: Translation = {
  path: '/chat/completions',
  request: (body, service) =>
    openAiRequest(body, openAiModelServices.has(service) ? 'max_completion_tokens' : 'max_tokens'),
  answer: anthropicAnswer,
  error: anthropicError,
  events: () => new AnthropicEvents(),
};

/** Null where a provider of this format is asked as the caller asks; `path` is behind `/v1`. */
export function translationFor(path: string, dialect: DialectName): Translation | null {
  if (path === '/chat/completions') return dialect === 'anthropic' ? chatToAnthropic : null;
  if (path === '/messages') return dialect === 'anthropic' ? null : messagesToOpenAi;
  return null;
}
