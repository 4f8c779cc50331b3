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

/** Services that store objects themselves, by capability. None of them offers assistants any more. */
const storingServices: Readonly<Record<Capability, readonly string[]>> = {
  assistants: [],
  vector_stores: ['openai', 'azure-openai'],
  files: ['openai', 'azure-openai'],
  responses: ['openai', 'azure-openai'],
};

interface StorageTerms {
  readonly service: string;
  /** Null for a provider that is no integration. */
  readonly configured: Capabilities | null;
  /** Whether the caller uses the format of Anthropic. */
  readonly isAnthropicCaller: boolean;
}

/**
 * Returns the configured storage; `auto` selects the provider if it stores such objects, else the gateway.
 * Anthropic stores files for callers of its own format; those of the OpenAI format search files, which it cannot.
 */
export function resolveStorage(
  capability: Capability,
  { service, configured, isAnthropicCaller }: StorageTerms,
): CapabilityStorage {
  const storage = configured?.[capability] ?? 'auto';
  if (storage !== 'auto') return storage;
  const isAnthropicFile = capability === 'files' && service === 'anthropic' && isAnthropicCaller;
  return isAnthropicFile || storingServices[capability].includes(service) ? 'proxy' : 'native';
}
