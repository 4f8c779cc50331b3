/** Writes a request of the log as a command for a POSIX shell. */
import type { LogRow } from './log-row.ts';

const paths: Readonly<Record<string, string>> = {
  chat_completions: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** Null for requests whose body cannot be sketched from the log, which stores no bodies. */
export function curlOf(row: LogRow): string | null {
  const path = paths[row.endpoint];
  if (path === undefined || row.mcp_server !== null) return null;
  const model = row.requested_model ?? row.model ?? '';
  const input =
    row.endpoint === 'chat_completions' || row.endpoint === 'messages'
      ? { messages: [{ role: 'user', content: 'TEXT' }] }
      : row.endpoint === 'completions'
        ? { prompt: 'TEXT' }
        : { input: 'TEXT' };
  const limit = row.endpoint === 'messages' ? { max_tokens: 1024 } : {};
  const stream = row.is_stream ? { stream: true } : {};
  const metadata = JSON.stringify(row.metadata);
  const headers = [
    'content-type: application/json',
    ...(row.config_id === null ? [] : [`x-gateway-config: ${row.config_id}`]),
    ...(metadata === '{}' ? [] : [`x-gateway-metadata: ${metadata}`]),
  ];
  return [
    `curl "$GATEWAY_URL"${path}`,
    `-H "authorization: Bearer $GATEWAY_KEY"`,
    ...headers.map((header) => `-H ${quote(header)}`),
    `-d ${quote(JSON.stringify({ model, ...limit, ...stream, ...input }))}`,
  ].join(' \\\n  ');
}

/** Quotes text that a caller chose, so that the shell reads it as one word and nothing else. */
function quote(text: string): string {
  return `'${text.replaceAll(/[\r\n]+/g, ' ').replaceAll("'", `'\\''`)}'`;
}
