/** MCP server of the gauntlet: appends each called tool to its journal before it responds. */
import { startMcpJournal } from '../../support/upstream/mcp-journal.ts';
import { record, reportReady } from './orders.ts';

const [port, journalPath] = process.argv.slice(2);
const server = await startMcpJournal(Number(port));
server.intercept = ({ body }) => {
  const call = body?.method === 'tools/call' ? body.params : null;
  if (call !== null) {
    record(journalPath!, { tool: call.name, text: call.arguments?.text, atMs: Date.now() });
  }
  return false;
};
reportReady({ port: Number(port) });
