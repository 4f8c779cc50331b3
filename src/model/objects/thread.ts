/** Knows the bodies by which threads and their messages are made and changed. */
import { z } from 'zod';
import { Metadata } from './assistant.ts';
import { ToolResources } from './run-tool.ts';

/** Of one message, in all of its parts. */
const textCharsMax = 256_000;
const partsMax = 100;
const messagesMax = 100;

const TextPart = z.strictObject({ type: z.literal('text'), text: z.string().max(textCharsMax) });
const ImagePart = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({
    url: z.string().max(textCharsMax),
    detail: z.enum(['auto', 'low', 'high']).optional(),
  }),
});

const Content = z.union([
  z.string().max(textCharsMax),
  z
    .array(z.discriminatedUnion('type', [TextPart, ImagePart]))
    .min(1)
    .max(partsMax),
]);

/** Body of POST /threads/{id}/messages. */
export const MessageCreate = z.strictObject({
  role: z.enum(['user', 'assistant']),
  content: Content,
  metadata: Metadata.nullable().optional(),
  attachments: z
    .array(z.unknown())
    .max(0, 'must be empty: put files into a vector store, and name it in tool_resources')
    .nullable()
    .optional(),
});
export type MessageCreate = z.infer<typeof MessageCreate>;

export const Messages = z.array(MessageCreate).max(messagesMax);

/** Body of POST /threads. */
export const ThreadCreate = z.strictObject({
  messages: Messages.optional(),
  metadata: Metadata.nullable().optional(),
  tool_resources: ToolResources.nullable().optional(),
});
export type ThreadCreate = z.infer<typeof ThreadCreate>;

/** Body by which a message or a run is changed. */
export const MetadataUpdate = z.strictObject({ metadata: Metadata.nullable().optional() });

/** Body by which a thread is changed. */
export const ThreadUpdate = z.strictObject({
  metadata: Metadata.nullable().optional(),
  tool_resources: ToolResources.nullable().optional(),
});

/** Where a text names the file that it was taken from. */
export interface FileCitation {
  readonly type: 'file_citation';
  /** The mark in the text. */
  readonly text: string;
  readonly start_index: number;
  readonly end_index: number;
  readonly file_citation: { readonly file_id: string };
}

/** As a record of a message shows it, and as it is stored. */
export type MessagePart =
  | {
      readonly type: 'text';
      readonly text: { readonly value: string; readonly annotations: readonly FileCitation[] };
    }
  | z.infer<typeof ImagePart>;

export function partsOf(content: MessageCreate['content']): MessagePart[] {
  if (typeof content === 'string') return [textPart(content)];
  return content.map((part) => (part.type === 'text' ? textPart(part.text) : part));
}

export function textPart(value: string, annotations: readonly FileCitation[] = []): MessagePart {
  return { type: 'text', text: { value, annotations } };
}
