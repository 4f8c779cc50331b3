/** Chains two translations: the format of the caller to a chat, and a chat to the format of the provider. */
import { ChainedEvents } from './chained-events.ts';
import type { Translation } from './translation.ts';

export function chainTranslations(toChat: Translation, fromChat: Translation): Translation {
  return {
    pathOf: fromChat.pathOf,
    request: (body, terms) =>
      fromChat.request(toChat.request(body, { ...terms, isIntermediate: true }), terms),
    response: (body, about) => toChat.response(fromChat.response(body, about), about),
    error: toChat.error,
    events: (about) =>
      new ChainedEvents(fromChat.events({ ...about, wantsUsage: true }), toChat.events(about)),
  };
}
