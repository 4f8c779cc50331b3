/** Runs the lower bound of a WebSocket proxy: the library ws on both sides, without inspecting anything. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

const [upstream] = process.argv.slice(2) as [string];

const server = createServer();
new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (caller, { url }) => {
  const provider = new WebSocket(upstream.replace(/^http/, 'ws') + url, {
    perMessageDeflate: false,
  });
  provider.on('message', (data, isBinary) => caller.send(data, { binary: isBinary }));
  caller.on('message', (data, isBinary) => provider.send(data, { binary: isBinary }));
  provider.on('close', () => caller.close());
  caller.on('close', () => provider.close());
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
