/** Simulates many clients in the network of the cluster, and records the outcome of each request. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/**
 * Sends requests to an API and to inference until standard input ends and at least `least` requests have
 * succeeded. Each request is sent once. Prints `{answered, refused, lost, made}`:
 * - `answered`: the number of expected responses;
 * - `refused`: the number of requests to be repeated because the database was busy;
 * - `lost`: one line for each other outcome;
 * - `made`: the names of workspaces whose creation was acknowledged.
 */
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    inference: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
    name: { type: 'string', default: '' },
    clients: { type: 'string', default: '4' },
    least: { type: 'string', default: '1000' },
  },
});
const leastAnswered = Number(values.least);
const timeoutMs = 120_000;
const pauseMs = 20;

let isStopped = false;
process.stdin.resume().once('end', () => {
  isStopped = true;
});
const result = { answered: 0, refused: 0, lost: [] as string[], made: [] as string[] };
const lostMax = 1_000;
const isOver = (): boolean =>
  isStopped && (result.answered >= leastAnswered || result.lost.length > lostMax);

/** Whether the response comes from the API itself and not from a proxy. */
function isBusy(body: string): boolean {
  return body.startsWith('{"success":false,"status_code":503,"error":{"code":"AB04",');
}

interface LoadRequest {
  readonly method: string;
  readonly url: string;
  readonly body?: object;
  readonly status: number;
}

const listRequest: LoadRequest = { method: 'GET', url: `${values.url}/workspaces`, status: 200 };

/** Names no provider: the gateway reports this only to authenticated callers. */
const inferenceRequest: LoadRequest = {
  method: 'POST',
  url: `${values.inference}/chat/completions`,
  status: 400,
  body: { model: 'none', messages: [] },
};

function isExpected(
  status: number | undefined,
  responseBody: string,
  expected: LoadRequest,
): boolean {
  if (status !== expected.status || responseBody === '') return false;
  return expected !== inferenceRequest || responseBody.includes('"provider_missing"');
}

async function send(agent: Agent, loadRequest: LoadRequest): Promise<boolean> {
  const { method, url, body } = loadRequest;
  const headers = { 'x-gateway-api-key': values.key, 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(timeoutMs);
  const began = Date.now();
  try {
    const sent = request(url, { method, agent, headers, signal });
    sent.end(body === undefined ? '' : JSON.stringify(body));
    const [response] = await once(sent, 'response');
    const responseBody = await text(response);
    const isRetryLater = response.statusCode === 503 && response.headers['retry-after'] === '1';
    if (isRetryLater && isBusy(responseBody)) {
      result.refused += 1;
      return false;
    }
    if (!isExpected(response.statusCode, responseBody, loadRequest)) {
      throw new Error(`status ${response.statusCode}: ${responseBody.slice(0, 200)}`);
    }
    result.answered += 1;
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    result.lost.push(`${method} ${url} at ${new Date(began).toISOString()}: ${code ?? message}`);
    return false;
  }
}

/**
 * Every second client opens a connection for each request, like `curl`; every fourth client writes. Every
 * third request is an inference request.
 */
async function client(index: number): Promise<void> {
  const keepAlive = index % 2 === 0;
  const agent = new Agent({ keepAlive, maxSockets: 1 });
  for (let turn = 0; !isOver(); turn += 1) {
    const name = `${values.name}-${index}-${turn}`;
    const createRequest: LoadRequest = { ...listRequest, method: 'POST', body: { name } };
    if (turn % 3 === 2) await send(agent, inferenceRequest);
    else if (index % 4 !== 3) await send(agent, listRequest);
    else if (await send(agent, createRequest)) result.made.push(name);
    await setTimeout(pauseMs);
  }
  agent.destroy();
}

await Promise.all(Array.from({ length: Number(values.clients) }, (_, index) => client(index)));
process.stdout.write(JSON.stringify(result));
