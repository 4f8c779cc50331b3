/** Starts a local service that judges texts for checks, and runs checks against it. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { evaluateGuardrails } from '../../../src/guardrails/evaluate.ts';
import {
  buildGuardrail,
  type CheckSource,
  type CheckTools,
} from '../../../src/guardrails/guardrail.ts';
import { RemoteChecks } from '../../../src/guardrails/remote/remote-checks.ts';
import { Searches } from '../../../src/guardrails/searches.ts';
import { findRequestPassages } from '../../../src/guardrails/texts/request-passages.ts';
import { runAtOnce } from '../../../src/slices.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { Origins } from '../../../src/upstream/origins.ts';
import { Outbound } from '../../../src/upstream/outbound.ts';
import { chatSubject } from './chat-subject.ts';

export interface ServiceArrival {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  readonly body: ReturnType<typeof JSON.parse>;
}

/** Answers one request: returns the JSON of a response with status 200, or writes the response itself. */
type Script = (arrival: ServiceArrival, response: ServerResponse) => object | null;

export interface LocalService extends AsyncDisposable {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly arrivals: ServiceArrival[];
  script: Script;
}

export async function startService(script: Script): Promise<LocalService> {
  const arrivals: ServiceArrival[] = [];
  const server: Server = createServer((request, response) => {
    void text(request).then((raw) => {
      const { method = '', url = '', headers } = request;
      const arrival = {
        method,
        path: url,
        headers,
        raw,
        body: raw === '' ? null : JSON.parse(raw),
      };
      arrivals.push(arrival);
      const answer = service.script(arrival, response);
      if (answer === null) return;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const service: LocalService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    script,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return service;
}

/** Runs guardrails with one check as the gateway does. */
export interface CheckBench extends AsyncDisposable {
  readonly tools: CheckTools;
  /** Judges a request; `more` are further members of the subject, and `actions` those of the guardrail. */
  judge(
    check: { readonly id: string; readonly parameters: object },
    params: object,
    more?: object,
    actions?: Readonly<Record<string, unknown>>,
  ): Promise<JudgedRequest>;
}

interface JudgedRequest {
  readonly verdict: boolean;
  readonly isDenied: boolean;
  readonly error: string | undefined;
  readonly data: Readonly<Record<string, unknown>> | null;
  /** The texts of the request after the check. */
  readonly texts: readonly string[];
  /** All results as callers receive them. */
  readonly results: string;
}

const tenant = { organisationId: 'organisation-1', workspaceId: 'workspace-1' };

export function openBench(
  options: Partial<ConstructorParameters<typeof RemoteChecks>[0]> = {},
  others: readonly CheckSource[] = [],
): CheckBench {
  const trusted = readTrustedHosts('127.0.0.1');
  const hosts = 'hosts' in trusted ? trusted.hosts : [];
  const origins = new Origins(hosts);
  const outbound = new Outbound(origins, hosts);
  const searches = new Searches();
  const sources = [...others, new RemoteChecks({ outbound, accounts: null, ...options })];
  const tools = { searches, outbound, sources };
  return {
    tools,
    judge: async (check, params, more = {}, actions = {}) => {
      const definition = {
        id: 'guard',
        savedId: null,
        checks: [{ id: check.id, parameters: check.parameters as Record<string, unknown> }],
        actions,
      };
      const json = params as Record<string, unknown>;
      const { passages, lastCount } = runAtOnce(
        findRequestPassages('chat_completions', json, false),
      );
      const subject = { ...chatSubject, tenant, params: json, passages, lastCount, ...more };
      const judged = await evaluateGuardrails([buildGuardrail(definition, tools)], subject, 0);
      const [result] = judged.results[0]!.checks;
      return {
        verdict: judged.passes,
        isDenied: judged.isDenied,
        error: result!.error?.message,
        data: result!.data as Record<string, unknown> | null,
        texts: judged.passages.map((passage) => passage.text),
        results: JSON.stringify(judged.results),
      };
    },
    [Symbol.asyncDispose]: async () => {
      searches[Symbol.dispose]();
      await origins[Symbol.asyncDispose]();
    },
  };
}

/** A chat with one message. */
export const chat = (content: unknown): object => ({ messages: [{ role: 'user', content }] });

/** A response of a model with one message, as a subject. */
export const answered = (content: string): object => ({
  side: 'output',
  answer: { status: 200, json: { choices: [{ message: { role: 'assistant', content } }] } },
  passages: [{ path: ['choices', 0, 'message', 'content'], text: content }],
  lastCount: 1,
});
