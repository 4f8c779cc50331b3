/** Finds which era the server of an exchange speaks, by a probe with the headers of the exchange. */

import { readJson } from '../../model/json/read-object.ts';
import { CallCut } from '../../upstream/call.ts';
import { type AskServer, probeEra } from '../bridge/probe-era.ts';
import { readAnswer } from '../bridge/read-answer.ts';
import type { ServerEra } from '../bridge/server-eras.ts';
import { mayRefuseLegacy } from '../messages/era-evidence.ts';
import { readPostHeaders } from '../messages/post-headers.ts';
import { readShortBody, replayed } from '../transfer/read-response.ts';
import type { LiveResponse } from '../transfer/response-chunks.ts';
import type { McpExchange } from './mcp-exchange.ts';
import { openCall } from './open-call.ts';

const eventVersion = '2024-11-05';
/** For the whole response. */
const answerMs = 15_000;

/** @throws PlaneFault when the server cannot be reached, or refuses the gateway */
export async function findServerEra(exchange: McpExchange): Promise<ServerEra> {
  const { services, server, arrival } = exchange;
  // HTTP+SSE is older than the modern era.
  if (server.isEventTransport) return { era: 'legacy', version: eventVersion };
  return await services.eras.find(server, arrival.now, () => probeEra(askingServer(exchange)));
}

/** Longer errors are no JSON-RPC errors. */
const refusalBytesMax = 64 * 1024;

/**
 * Whether the server refuses the legacy era. Only a request without a session of the server tells, so
 * that a legacy server receives no request but those of its clients.
 *
 * @returns the response to deliver; null when the server speaks the modern era only
 */
export async function unlessRefused(
  exchange: McpExchange,
  call: LiveResponse,
): Promise<LiveResponse | null> {
  const { services, server } = exchange;
  const { status, headers } = call;
  const isJson = /^application\/json\b/i.test(String(headers['content-type'] ?? ''));
  if ((status !== 400 && status !== 404) || !isJson) return call;
  const body = await readShortBody(call, refusalBytesMax);
  if (!mayRefuseLegacy(status, readJson(body.toString('utf8')))) return replayed(call, body);
  const { era } = await findServerEra(exchange);
  if (era === 'legacy') return replayed(call, body);
  services.eras.noteRefusal(server);
  return null;
}

/** Sends requests of the gateway itself, which belong to no call of the caller. */
export function askingServer(exchange: McpExchange): AskServer {
  return async (headers, message) => {
    let timer: NodeJS.Timeout | undefined;
    const request = {
      method: 'POST',
      protocol: {
        ...headers,
        ...readPostHeaders,
      },
      body: Buffer.from(JSON.stringify(message)),
      silenceTimeoutMs: answerMs,
    } as const;
    try {
      const call = await openCall(exchange, request, (opened) => {
        timer = setTimeout(() => opened.cut(new CallCut('no response in time')), answerMs);
      });
      return await readAnswer(call, message.id);
    } finally {
      clearTimeout(timer);
    }
  };
}
