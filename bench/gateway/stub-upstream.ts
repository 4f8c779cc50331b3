/** Simulates a provider at minimal cost: one JSON response, or a stream at the pace that the request names. */
import { createServer, type Socket } from 'node:net';

/** `pace 12x4` in the first bytes of a body requests 12 stream events, 4 ms apart. */
const pacePattern = /pace (\d+)x(\d+)/;
const lookedAtBytes = 1_000;

const usage = { prompt_tokens: 150, completion_tokens: 200, total_tokens: 350 };
const answer = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      logprobs: null,
      message: { role: 'assistant', content: 'word '.repeat(270), refusal: null },
    },
  ],
  usage,
});
const json = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_bench\r\n` +
    `content-length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`,
);

const chunkOf = (data: string): string => {
  const event = `data: ${data}\n\n`;
  return `${event.length.toString(16)}\r\n${event}\r\n`;
};
const chunkFields = {
  id: 'chatcmpl-bench',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o-mini',
};
const streamHead =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const piece = Buffer.from(
  chunkOf(
    JSON.stringify({
      ...chunkFields,
      choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }],
    }),
  ),
);
const streamEnd = Buffer.from(
  `${chunkOf(JSON.stringify({ ...chunkFields, choices: [], usage }))}${chunkOf('[DONE]')}0\r\n\r\n`,
);

const server = createServer({ noDelay: true }, (socket) => {
  let head: Buffer | null = null;
  let missing = 0;
  socket.on('data', (chunk: Buffer) => {
    if (head === null) {
      head = chunk;
      missing = bytesOf(chunk) - chunk.length;
    } else missing -= chunk.length;
    if (missing > 0) return;
    const pace = pacePattern.exec(head.toString('latin1', 0, lookedAtBytes));
    head = null;
    if (pace === null) socket.write(json);
    else stream(socket, Number(pace[1]), Number(pace[2]));
  });
  socket.on('error', () => socket.destroy());
});

/** Length of the whole request. Heads arrive in one piece over loopback. */
function bytesOf(chunk: Buffer): number {
  const bodyAt = chunk.indexOf('\r\n\r\n') + 4;
  const length = /content-length: (\d+)/i.exec(chunk.toString('latin1', 0, bodyAt));
  return bodyAt + Number(length?.[1] ?? 0);
}

function stream(socket: Socket, events: number, apartMs: number): void {
  socket.write(Buffer.concat([Buffer.from(streamHead), piece]));
  let left = events - 1;
  const timer = setInterval(() => {
    left -= 1;
    if (left >= 0 && !socket.destroyed) socket.write(piece);
    else {
      clearInterval(timer);
      if (!socket.destroyed) socket.write(streamEnd);
    }
  }, apartMs);
}

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
