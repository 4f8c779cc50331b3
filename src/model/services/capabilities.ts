/** Defines where objects of callers (assistants, files, …) are stored: by the gateway or by the provider. */
import { z } from 'zod';
import { described } from '../wire/described.ts';

const Storage = z.enum(['auto', 'native', 'proxy', 'off']);

const storageOf = (objects: string) =>
  described(
    Storage.optional(),
    `Where ${objects} are stored: native (in the gateway), proxy (at the provider) or off.`,
    { default: 'auto' },
  );

/** Storage of the objects that callers create: the gateway (`native`), the provider (`proxy`) or none (`off`). */
export const Capabilities = z.strictObject({
  assistants: storageOf('assistants, threads, messages, runs and their steps'),
  vector_stores: storageOf('vector stores'),
  files: storageOf('files'),
  responses: storageOf('responses'),
});
export type Capabilities = z.infer<typeof Capabilities>;

export type Capability = keyof Capabilities;
export type CapabilityStorage = 'native' | 'proxy' | 'off';

/** Services that store objects themselves. None of them offers assistants any more. */
const storingServices = new Set(['openai', 'azure-openai']);

/** Returns the configured storage; `auto` selects the provider if it stores such objects, else the gateway. */
export function resolveStorage(
  capability: Capability,
  service: string,
  configured: Capabilities | null,
): CapabilityStorage {
  const storage = configured?.[capability] ?? 'auto';
  if (storage !== 'auto') return storage;
  return capability !== 'assistants' && storingServices.has(service) ? 'proxy' : 'native';
}
