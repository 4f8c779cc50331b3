/** Knows how to be many clients at once, as a process in the cluster's network, and what became of each request. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';

/**
 * Takes the addresses of an API and of inference, asks them until its standard input ends and `least` requests have been
 * answered, and prints `{answered, refused, lost, made}`: how many were answered as they should be, how
 * many the API asked to send again because the database was busy, what became of all others, and the
 * names of workspaces whose making was acknowledged. A client sends each request once.
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
const patienceMs = 120_000;
const pauseMs = 20;

let isTold = false;
process.stdin.resume().once('end', () => {
  isTold = true;
});
const result = { answered: 0, refused: 0, lost: [] as string[], made: [] as string[] };
const lostMax = 1_000;
const isOver = (): boolean =>
  isTold && (result.answered >= leastAnswered || result.lost.length > lostMax);

/** Whether an answer is of the API itself, and of nothing on the way to it. */
function isBusy(told: string): boolean {
  return told.startsWith('{"success":false,"status_code":503,"error":{"code":"AB04",');
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly body?: object;
  readonly status: number;
}

const listed: Asked = { method: 'GET', url: `${values.url}/workspaces`, status: 200 };

/** Names no provider, which the gateway says to those whom it lets in. */
const inferred: Asked = {
  ...{ method: 'POST', url: `${values.inference}/chat/completions`, status: 400 },
  body: { model: 'none', messages: [] },
};

function isExpected(status: number | undefined, told: string, asked: Asked): boolean {
  if (status !== asked.status || told === '') return false;
  return asked !== inferred || told.includes('"provider_missing"');
}

async function ask(agent: Agent, asked: Asked): Promise<boolean> {
  const { method, url, body } = asked;
  const headers = { 'x-gateway-api-key': values.key, 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(patienceMs);
  const began = Date.now();
  try {
    const sent = request(url, { method, agent, headers, signal });
    sent.end(body === undefined ? '' : JSON.stringify(body));
    const [answer] = await once(sent, 'response');
    const told = await text(answer);
    if (answer.statusCode === 503 && answer.headers['retry-after'] === '1' && isBusy(told)) {
      result.refused += 1;
      return false;
    }
    if (!isExpected(answer.statusCode, told, asked)) {
      throw new Error(`status ${answer.statusCode}: ${told.slice(0, 200)}`);
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
 * Every second one opens a connection for each request, as `curl` does; every fourth one writes. Each third
 * request is for a model.
 */
async function client(index: number): Promise<void> {
  const keepAlive = index % 2 === 0;
  const agent = new Agent({ keepAlive, maxSockets: 1 });
  for (let turn = 0; !isOver(); turn += 1) {
    const name = `${values.name}-${index}-${turn}`;
    const made: Asked = { ...listed, method: 'POST', body: { name } };
    if (turn % 3 === 2) await ask(agent, inferred);
    else if (index % 4 !== 3) await ask(agent, listed);
    else if (await ask(agent, made)) result.made.push(name);
    await setTimeout(pauseMs);
  }
  agent.destroy();
}

await Promise.all(Array.from({ length: Number(values.clients) }, (_, index) => client(index)));
process.stdout.write(JSON.stringify(result));
