/** Defines the `mock-upstream` command: a mock model provider that echoes requests, and a mock MCP server. */
import { once } from 'node:events';
import { listenFailure } from '../../app/listen.ts';
import type { Command } from '../shared/command.ts';
import { portOption, textOption } from '../shared/option.ts';
import { startMockServer } from './mock-server.ts';

interface Options {
  host: string | undefined;
  port: number | undefined;
}

const hostUsual = '127.0.0.1';
const portUsual = 8790;

export const mockUpstream: Command<Options> = {
  examples: [
    [
      'gatewright mock-upstream',
      'Answer chat completions on http://127.0.0.1:8790/v1 and MCP on http://127.0.0.1:8790/mcp',
    ],
    ['gatewright mock-upstream --port 0', 'Use a free port and print it'],
  ],
  options: {
    host: textOption('ADDRESS', { describe: 'Address to listen on', fallback: hostUsual }),
    port: portOption(portUsual, {
      describe: 'Port to listen on; 0 selects a free port',
      fallback: String(portUsual),
    }),
  },
  run: async (options, io) => {
    const { host = hostUsual, port: wanted = portUsual } = options;
    await using server = await startMockServer(host, wanted).catch((error: Error) => {
      throw listenFailure(host, wanted, '--port', error);
    });
    io.stdout.write(`a mock upstream answers on ${server.url}\n`);
    io.stdout.write(`a mock MCP server answers on ${server.mcpUrl}\n`);
    io.stderr.write('This is not a model: it echoes requests. Stop with Ctrl-C.\n');
    await io.onStarted();
    if (!io.signal.aborted) await once(io.signal, 'abort');
    return 'success';
  },
};
