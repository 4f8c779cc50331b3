/** Defines the capabilities of clients by which servers ask them, and which of them may not be used. */
import { z } from 'zod';
import { readDocument } from '../wire/json-record.ts';

const ClientCapability = z.enum(['elicitation', 'roots', 'sampling']);
export type ClientCapability = z.infer<typeof ClientCapability>;

export const clientCapabilities: readonly ClientCapability[] = ClientCapability.options;

/** In one order and without repetition. */
export const DisabledClientCapabilities = z
  .array(ClientCapability)
  .max(clientCapabilities.length)
  .transform((listed) => clientCapabilities.filter((one) => listed.includes(one)));

/** Reads the column of a list; null is an empty one. */
export function readClientCapabilities(column: string | null): ClientCapability[] {
  return readDocument<ClientCapability[]>(column) ?? [];
}
