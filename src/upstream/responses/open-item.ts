/** Defines an item of a response that still grows. */
import type { Json } from '../documents/document-node.ts';

/** Formats an event of the stream. */
export type EmitEvent = (type: string, data: Json) => string;

/** The events that end an item, and the complete item. */
export interface EndedItem {
  readonly events: string;
  readonly item: Json;
}
