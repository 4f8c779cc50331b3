/** Leaves settings of the sampling out of a chat whose model refuses them. */
import { canSample } from '../../model/services/chat-extensions.ts';
import { openAiModelServices } from '../../model/services/provider-addresses.ts';
import type { Json } from '../documents/document-node.ts';
import type { RequestTerms } from './translation.ts';

const samplingMembers = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'];

/** `dropHint` receives the members that are left out. */
export function acceptedSampling(
  chat: Json,
  { service, isIntermediate = false }: RequestTerms,
  dropHint: (member: string) => void,
): Json {
  if (isIntermediate || !openAiModelServices.has(service)) return chat;
  if (canSample(chat.model, chat.reasoning_effort)) return chat;
  // The usual temperature is accepted.
  const refused = samplingMembers.filter(
    (name) => chat[name] !== undefined && !(name === 'temperature' && chat[name] === 1),
  );
  for (const name of refused) dropHint(name);
  return Object.fromEntries(Object.entries(chat).filter(([name]) => !refused.includes(name)));
}
