/** MCP server of the gauntlet: appends each called tool to its journal before it responds, and changes its list as ordered. */
import { startMcpJournal } from '../../support/upstream/mcp-journal.ts';
import { readOrders, record, reportReady } from './orders.ts';

export interface ToolServerOrder {
  /** Whether the list has another description of `echo`, a further tool, and none of the others. */
  readonly isListChanged: boolean;
}

const echo = { type: 'object', properties: { text: { type: 'string' } } };
const changedTools = [
  { name: 'echo', description: 'another description', inputSchema: echo },
  { name: 'further', inputSchema: { type: 'object' } },
];

const [port, journalPath] = process.argv.slice(2);
const server = await startMcpJournal(Number(port));
server.intercept = ({ body }) => {
  const call = body?.method === 'tools/call' ? body.params : null;
  if (call !== null) {
    record(journalPath!, { tool: call.name, text: call.arguments?.text, atMs: Date.now() });
  }
  return false;
};
readOrders<ToolServerOrder>(({ isListChanged }) => {
  server.answer = ({ method }) =>
    isListChanged && method === 'tools/list' ? { result: { tools: changedTools } } : null;
  server.push({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
});
reportReady({ port: Number(port) });
