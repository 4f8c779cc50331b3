/** Knows what callers keep with a provider, and of which of it the provider keeps, or the gateway itself. */
import { z } from 'zod';
import { described } from '../wire/described.ts';

const Keeper = z.enum(['auto', 'native', 'proxy', 'off']);

const keeper = (of: string) =>
  described(Keeper.optional(), `Who keeps ${of}.`, { default: 'auto' });

/** Who keeps what callers have made: the gateway (`native`), the provider (`proxy`), nobody (`off`). */
export const Capabilities = z.strictObject({
  assistants: keeper('assistants, threads, messages, runs and their steps'),
  vector_stores: keeper('vector stores'),
  files: keeper('files'),
  responses: keeper('responses'),
});
export type Capabilities = z.infer<typeof Capabilities>;

export type Capability = keyof Capabilities;
export type KeptBy = 'native' | 'proxy' | 'off';

/** Services that keep things themselves; no service has assistants any more. */
const keepers = new Set(['openai', 'azure-openai']);

/** What is said of it, or what is known of the service where that is left to the gateway. */
export function keptBy(capability: Capability, service: string, said: Capabilities | null): KeptBy {
  const own = said?.[capability] ?? 'auto';
  if (own !== 'auto') return own;
  return capability !== 'assistants' && keepers.has(service) ? 'proxy' : 'native';
}
