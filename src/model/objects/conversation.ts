/** Defines the bodies that create and update conversations and their items. */
import { z } from 'zod';
import { ObjectMetadata } from './assistant.ts';

const itemsMax = 20;

/** Items are read when a response continues the conversation. */
const Items = z.array(z.looseObject({ type: z.string().optional() })).max(itemsMax);

/** Body of POST /conversations. */
export const ConversationCreate = z.strictObject({
  items: Items.nullable().optional(),
  metadata: ObjectMetadata.nullable().optional(),
});

/** Body of POST /conversations/{id}. */
export const ConversationUpdate = z.strictObject({ metadata: ObjectMetadata.nullable() });

/** Body of POST /conversations/{id}/items. */
export const ConversationItemsCreate = z.strictObject({ items: Items.min(1) });
