/** Knows what both ways of talking to an MCP server have in common. */
import type { McpUnreachable } from '../model/mcp-found.ts';
import type { AnswerHeaders } from '../upstream/call.ts';
import type { BoundedCalls } from './bounded-calls.ts';
import type { Message } from './messages.ts';

export interface Wire {
  /** Yields the message that answers. @throws McpUnreachable */
  ask(id: number, text: string): Promise<Message>;
  /** Sends what nobody answers. @throws McpUnreachable */
  tell(text: string): Promise<void>;
  /** Once it is known, all further requests name it. */
  protocolVersion: string | null;
  /** Tells the server that the session is over, where there is one. */
  leave(): Promise<void>;
}

export function typeOf(headers: AnswerHeaders): string {
  return String(headers['content-type'] ?? '')
    .split(';')[0]!
    .trim()
    .toLowerCase();
}

/** What a status that is no success is told as. */
export function refusal(calls: BoundedCalls, status: number): McpUnreachable {
  if (status === 401 || status === 403) {
    return calls.failure(`the server answers ${status}: it does not take these credentials`);
  }
  if (status >= 300 && status < 400) {
    return calls.failure(`the server answers ${status}: redirects are not followed`);
  }
  return calls.failure(`the server answers ${status}`);
}
