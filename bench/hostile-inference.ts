/** Measures how long the most expensive bodies of the inference API block the event loop of a gateway. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { request } from 'undici';
import type { Member, Row } from './harness.ts';
import {
  type InferenceBody,
  type InferenceRoute,
  inferenceBody,
  inferenceRoutes,
  inferenceShapes,
} from './hostile-inference-bodies.ts';
import type { HostileServerReady, Stall } from './hostile-server.ts';

/** A stall longer than `noticedMs` is measured up to this many times and the shortest counts. */
const repeats = 4;
const noticedMs = 40;
const stallMaxMs = 50;

/** One way in which the gateway treats a request, by the key and the config that select it. */
interface Treatment {
  readonly name: string;
  readonly key: string;
  readonly config: object;
  /** Routes that the treatment concerns; null for all. */
  readonly paths: readonly string[] | null;
}

interface BodyStall {
  readonly name: string;
  readonly status: number;
  readonly stallMs: number;
}

/** `--stages=` selects routes, treatments or shapes by their names, such as `/responses` or `guardrail`. */
export const member: Member = {
  name: 'hostile inference: longest stall of the event loop',
  run: async (_, { stages }): Promise<Row[]> => {
    const upstream = await startUpstream();
    const { port } = upstream.address() as AddressInfo;
    const host = `127.0.0.1:${port}`;
    const script = resolve(import.meta.dirname, 'hostile-server.ts');
    const child = fork(script, [host], { stdio: 'inherit' });
    try {
      const [server] = (await once(child, 'message')) as [HostileServerReady];
      const treatments = await treatmentsOf(server, `http://${host}/v1`);
      const rows: Row[] = [];
      for (const route of inferenceRoutes) {
        for (const treatment of treatments) {
          const { paths } = treatment;
          if (paths !== null && !paths.includes(route.path)) continue;
          if (!isWanted(stages, route.path, treatment.name)) continue;
          rows.push(await worstOf(child, server, route, treatment, stages));
        }
      }
      return rows;
    } finally {
      child.disconnect();
      await once(child, 'exit');
      upstream.close();
    }
  },
};

function isWanted(stages: readonly string[] | null, path: string, treatment: string): boolean {
  const matches = (words: readonly string[], one: string): boolean =>
    !stages?.some((stage) => words.includes(stage)) || stages.includes(one);
  return (
    matches(
      inferenceRoutes.map((route) => route.path),
      path,
    ) && matches(treatmentNames, treatment)
  );
}

const treatmentNames = [
  'plain',
  'limit',
  'guardrail',
  'webhook',
  'cache',
  'rules',
  'translation',
  'parameters',
];

async function worstOf(
  child: ChildProcess,
  server: HostileServerReady,
  route: InferenceRoute,
  treatment: Treatment,
  stages: readonly string[] | null,
): Promise<Row> {
  const wanted = Object.keys(inferenceShapes).filter(
    (shape) => !stages?.some((stage) => stage in inferenceShapes) || stages.includes(shape),
  );
  const measured: BodyStall[] = [];
  for (const place of Object.keys(route.places)) {
    for (const shape of wanted) {
      const body = inferenceBody(route, place, shape);
      const one = await measure(child, server, route, treatment, body);
      if (one.stallMs > stallMaxMs) {
        process.stdout.write(
          `  ${route.path} ${treatment.name} ${one.name} (${one.status}): ${one.stallMs.toFixed(0)} ms\n`,
        );
      }
      measured.push(one);
    }
  }
  const worst = measured.reduce((one, other) => (other.stallMs > one.stallMs ? other : one));
  const detail = `${worst.name} (${worst.status})`;
  const metric = `POST ${route.path} with ${treatment.name}, ms: ${detail}`;
  return { metric, ratio: worst.stallMs, aim: stallMaxMs };
}

async function measure(
  child: ChildProcess,
  server: HostileServerReady,
  { path }: InferenceRoute,
  { key, config }: Treatment,
  { name, text, contentType }: InferenceBody,
): Promise<BodyStall> {
  const bytes = Buffer.from(text);
  let stallMs = Number.POSITIVE_INFINITY;
  let status = 0;
  for (let at = 0; at < repeats && stallMs > noticedMs; at += 1) {
    await stallOf(child);
    const response = await request(`${server.inferenceUrl}/v1${path}`, {
      method: 'POST',
      headers: {
        'content-type': contentType,
        authorization: `Bearer ${key}`,
        'x-gateway-config': JSON.stringify(config),
      },
      body: bytes,
    });
    const answer = await response.body.text();
    status = response.statusCode;
    if (status === 500 || status === 401 || status === 503) {
      throw new Error(`${path} with ${name} returned ${status}: ${answer}`);
    }
    stallMs = Math.min(stallMs, await stallOf(child));
  }
  return { name, status, stallMs };
}

async function stallOf(child: ChildProcess): Promise<Stall> {
  child.send('stall');
  const [stall] = (await once(child, 'message')) as [Stall];
  return stall;
}

/** Checks that read all of a text, and one that changes it. */
const guardrails = [
  { 'default.contains': { words: ['forbidden', 'absent'], operator: 'none' }, deny: true },
  { 'default.wordCount': { minWords: 0, maxWords: 99_999_999 } },
  { 'default.allLowercase': {}, 'default.endsWith': { suffix: 'x' } },
  { 'default.jsonKeys': { keys: ['a'], operator: 'any' } },
  { 'default.regexReplace': { rule: 'a$', redactText: 'b' } },
];

/** Checks that send the request to another service, one of which replaces its texts by equal ones. */
const webhooksAt = (host: string) => [
  { 'default.webhook': { webhookURL: `${host}/hook`, timeout: 60_000 } },
  { 'default.log': { logURL: `${host}/hook`, timeout: 60_000 } },
];

async function treatmentsOf(server: HostileServerReady, host: string): Promise<Treatment[]> {
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path}: ${text}`);
    return JSON.parse(text) as Record<string, string>;
  };
  const { id: workspace_id } = await post('/v1/admin/workspaces', { name: 'hostile' });
  const keyWith = async (more: object): Promise<string> => {
    const body = { name: 'hostile', workspace_id, scopes: ['completions.write'], ...more };
    return (await post('/v1/api-keys/workspace/service', body)).key!;
  };
  const key = await keyWith({});
  const usage_limits = { type: 'tokens', credit_limit: 8_000_000_000 };
  const limited = await keyWith({ usage_limits });
  const { id: integration_id } = await post('/v1/integrations', {
    name: 'rules',
    ai_provider_id: 'openai',
    key: 'sk',
    workspace_id: workspace_id!,
    configurations: { custom_host: host },
    models: [{ slug: 'forbidden', enabled: false }],
  });
  const { slug } = await post('/v1/providers', { name: 'rules', workspace_id, integration_id });
  const openai = { provider: 'openai', custom_host: host, api_key: 'k' };
  const override_params = { temperature: 0.5, messages: undefined };
  const of = (name: string, config: object, paths: readonly string[] | null = null): Treatment => ({
    name,
    key,
    config,
    paths,
  });
  return [
    of('plain', openai),
    { name: 'limit', key: limited, config: openai, paths: null },
    of('guardrail', { ...openai, input_guardrails: guardrails }),
    of('webhook', { ...openai, input_guardrails: webhooksAt(host) }),
    of('cache', { ...openai, cache: { mode: 'simple' } }),
    of('rules', { provider: `@${slug}` }),
    of('parameters', { ...openai, override_params }),
    of('translation', { ...openai, provider: 'anthropic' }, ['/chat/completions', '/responses']),
    of('translation', { ...openai, provider: 'groq' }, ['/messages', '/responses']),
  ];
}

const chat = {
  id: 'c',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'a' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const message = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'a' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
};

/** Answers each request once its body has arrived. */
function startUpstream(): Promise<Server> {
  const server = createServer((arrived: IncomingMessage, response) => {
    arrived.resume().on('end', () => {
      const answers: [string, object][] = [
        ['/messages', message],
        ['/hook', { verdict: true }],
      ];
      const answer = answers.find(([end]) => arrived.url?.endsWith(end) === true)?.[1] ?? chat;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  const { promise, resolve: ready } = Promise.withResolvers<Server>();
  server.listen(0, '127.0.0.1', () => ready(server));
  return promise;
}
