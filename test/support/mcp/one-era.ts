/** Has the recording MCP server speak one era of the protocol only. */
import type { JournalEntry, McpJournal } from '../upstream/mcp-journal.ts';
import { sendJson } from '../upstream/upstream.ts';

/** `both` for a server that speaks either era. */
export type SpokenEra = 'legacy' | 'modern' | 'both';

const version = 'io.modelcontextprotocol/protocolVersion';

export function isModernRequest({ body }: JournalEntry): boolean {
  return body?.params?._meta?.[version] !== undefined;
}

/** Refuse what a server of one era does not know. */
const refusals: Record<SpokenEra, McpJournal['intercept']> = {
  both: null,
  legacy: ({ body }, response) => {
    if (body?.method !== 'server/discover') return false;
    const error = { code: -32601, message: 'Method not found' };
    sendJson(response, { jsonrpc: '2.0', id: body.id, error }, 404);
    return true;
  },
  modern: (entry, response) => {
    if (entry.body?.id === undefined || isModernRequest(entry)) return false;
    const error = { code: -32602, message: 'no _meta' };
    sendJson(response, { jsonrpc: '2.0', id: entry.body.id, error }, 400);
    return true;
  },
};

export function speakOnly(upstream: McpJournal, era: SpokenEra): void {
  upstream.intercept = refusals[era];
}
