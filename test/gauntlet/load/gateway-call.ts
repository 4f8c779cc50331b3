/** Calls any running gateway. */
import { request } from 'undici';
import type { Place } from '../scene/place.ts';
import type { Scene } from '../scene/scene.ts';
import { callerTimeoutMs } from './load.ts';

export interface GatewayAnswer {
  /** Null when no gateway ran. */
  readonly place: string | null;
  readonly sentMs: number;
  readonly doneMs: number;
  /** 0 without an answer. */
  readonly status: number;
  readonly text: string;
  readonly session: string | null;
}

export interface GatewayCall {
  readonly plane: 'inference' | 'mcp';
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly key: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function callGateway(
  { gateways }: Scene,
  random: () => number,
  { plane, method, path, key, body, headers }: GatewayCall,
): Promise<GatewayAnswer> {
  const running = gateways.filter(({ process }) => process !== null);
  const place: Place | undefined = running[Math.floor(random() * running.length)];
  const sentMs = Date.now();
  const none = { place: place?.name ?? null, sentMs, status: 0, text: '', session: null };
  if (place === undefined) return { ...none, doneMs: sentMs };
  const { url, mcpUrl } = place.parts;
  try {
    const answer = await request(`${plane === 'mcp' ? mcpUrl : url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(callerTimeoutMs),
    });
    const text = await answer.body.text();
    const session = answer.headers['mcp-session-id'];
    return {
      place: place.name,
      sentMs,
      doneMs: Date.now(),
      status: answer.statusCode,
      text,
      session: session === undefined ? null : String(session),
    };
  } catch {
    return { ...none, doneMs: Date.now() };
  }
}
