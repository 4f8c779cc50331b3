/** Stands in for a realtime provider at minimal cost: announces a session, and returns each message. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const session = { type: 'realtime', audio: { input: { turn_detection: null } } };
const created = JSON.stringify({ type: 'session.created', session });

const server = createServer();
new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  socket.send(created);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
