/** Defines the bodies that create and update threads and their messages, and the parts of a stored message. */
import { z } from 'zod';
import { ObjectMetadata } from './assistant.ts';
import { ToolResources } from './run-tool.ts';

/** Maximum characters of one message, all parts together. */
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
  metadata: ObjectMetadata.nullable().optional(),
  attachments: z
    .array(z.unknown())
    .max(0, 'must be empty: add files to a vector store and name it in tool_resources')
    .nullable()
    .optional(),
});
export type MessageCreate = z.infer<typeof MessageCreate>;

export const Messages = z.array(MessageCreate).max(messagesMax);

/** Body of POST /threads. */
export const ThreadCreate = z.strictObject({
  messages: Messages.optional(),
  metadata: ObjectMetadata.nullable().optional(),
  tool_resources: ToolResources.nullable().optional(),
});
export type ThreadCreate = z.infer<typeof ThreadCreate>;

/** Body that updates a message or a run. */
export const MetadataUpdate = z.strictObject({ metadata: ObjectMetadata.nullable().optional() });

/** Body that updates a thread. */
export const ThreadUpdate = z.strictObject({
  metadata: ObjectMetadata.nullable().optional(),
  tool_resources: ToolResources.nullable().optional(),
});

/** Marks where a text cites a file. */
export interface FileCitation {
  readonly type: 'file_citation';
  /** The citation mark in the text. */
  readonly text: string;
  readonly start_index: number;
  readonly end_index: number;
  readonly file_citation: { readonly file_id: string };
}

/** A part of a message, as stored and as returned. */
export type MessagePart =
  | {
      readonly type: 'text';
      readonly text: { readonly value: string; readonly annotations: readonly FileCitation[] };
    }
  | z.infer<typeof ImagePart>;

export function messageParts(content: MessageCreate['content']): MessagePart[] {
  if (typeof content === 'string') return [messageTextPart(content)];
  return content.map((part) => (part.type === 'text' ? messageTextPart(part.text) : part));
}

export function messageTextPart(
  value: string,
  annotations: readonly FileCitation[] = [],
): MessagePart {
  return { type: 'text', text: { value, annotations } };
}
