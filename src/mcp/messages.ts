/** Knows messages of JSON-RPC as MCP servers send them: answers, and what they ask of us. */
import { z } from 'zod';

const Message = z.object({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string().optional(),
  result: z.unknown(),
  error: z.object({ code: z.number() }).optional(),
});
export type Message = z.infer<typeof Message>;

/** Those in a text, which holds one or a list; none of what is no message. */
export function messagesIn(text: string): Message[] {
  const parsed = parse(text);
  const all = Array.isArray(parsed) ? parsed : [parsed];
  return all.flatMap((one) => {
    const { data } = Message.safeParse(one);
    return data === undefined ? [] : [data];
  });
}

export function isAnswerTo({ id, method }: Message, asked: number): boolean {
  return method === undefined && id === asked;
}

/** What is answered to a server that asks: a sign of life, for nothing else is offered. Null where it does not ask. */
export function answerTo({ id, method }: Message): string | null {
  if (method === undefined || id === undefined) return null;
  const answer =
    method === 'ping'
      ? { result: {} }
      : { error: { code: -32601, message: 'This client offers nothing of that kind' } };
  return JSON.stringify({ jsonrpc: '2.0', id, ...answer });
}

export function requestText(id: number, method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

export function noticeText(method: string): string {
  return JSON.stringify({ jsonrpc: '2.0', method });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
