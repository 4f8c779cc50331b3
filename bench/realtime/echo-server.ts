/** Stands in for a realtime provider of either API at minimal cost: announces a session, and returns each message. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const session = { type: 'realtime', audio: { input: { turn_detection: null } } };
const created = JSON.stringify({ type: 'session.created', session });

const server = createServer();
new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket, { url }) => {
  const echo = (): void => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  };
  if (url?.startsWith('/ws/') !== true) {
    echo();
    socket.send(created);
    return;
  }
  socket.once('message', () => {
    echo();
    socket.send('{"setupComplete":{}}');
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
