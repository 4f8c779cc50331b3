/** Sends the requests of checks to services: with a deadline, a breaker, one retry, and a cache of verdicts. */
import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { writeJson } from '../../model/json/json-bytes.ts';
import { isObject } from '../../model/json/read-object.ts';
import { monotonicMs } from '../../monotonic.ts';
import { runInTurns, runPromptly } from '../../slices.ts';
import type { CallRequest } from '../../upstream/call.ts';
import { type Outbound, OutboundFailure, type OutboundResponse } from '../../upstream/outbound.ts';
import { CheckError, type CheckTenant } from '../check.ts';
import { CallNotSent, type CheckModelCalls } from '../check-model-calls.ts';
import { readServiceAnswer } from '../service-answer.ts';
import type { ServiceRequest, ServiceVerdict } from './remote-service.ts';
import { ServiceBreakers } from './service-breakers.ts';

/** The terms of a check under which a request is sent. */
export interface CallTerms {
  /** Name of the service in messages. */
  readonly name: string;
  /** Digest of the check and all its parameters, which decide the verdict as much as what is sent. */
  readonly check: string;
  readonly tenant: CheckTenant | undefined;
  readonly modelCalls: CheckModelCalls | undefined;
  /** Monotonic time after which no answer is awaited. */
  readonly deadlineMs: number;
  /** Zero reuses no verdict. */
  readonly cacheMs: number;
}

type Answer = Readonly<Record<string, unknown>>;

const verdictsMax = 20_000;
const verdictBytesMax = 32 * 1024 * 1024;
/** Size of a verdict without its changed texts. */
const verdictBytes = 500;
/** A response may repeat the judged texts, with escapes, and describe what was found in them. */
const answerBytesMin = 1024 * 1024;
const answerBytesMax = 4 * 1024 * 1024;
/** Statuses after which the request has not been processed. */
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const retryDelayMs = 100;

export class ServiceCalls {
  readonly #outbound: Pick<Outbound, 'request'>;
  readonly #breakers: ServiceBreakers;
  readonly #monotonicMs: () => number;
  /** By digest of organisation, check, destination, credentials and everything that was judged. */
  readonly #verdicts: LRUCache<string, ServiceVerdict>;

  constructor(outbound: Pick<Outbound, 'request'>, clock: () => number = monotonicMs) {
    this.#outbound = outbound;
    this.#monotonicMs = clock;
    this.#breakers = new ServiceBreakers(clock);
    this.#verdicts = new LRUCache({
      max: verdictsMax,
      maxSize: verdictBytesMax,
      sizeCalculation: sizeOf,
      perf: { now: clock },
      ttlResolution: 0,
    });
  }

  nowMs(): number {
    return this.#monotonicMs();
  }

  /** @throws CheckError when there is no verdict */
  async judge(
    request: ServiceRequest,
    terms: CallTerms,
    read: (answer: Answer) => ServiceVerdict,
  ): Promise<ServiceVerdict> {
    const body = await runPromptly(writeJson(request.body));
    const key = digestOf(request, terms, body);
    const known = key === null ? undefined : this.#verdicts.get(key);
    if (known !== undefined) return known;
    const { perRequest } = request;
    const sent =
      perRequest === undefined
        ? body
        : await runInTurns(writeJson({ ...request.body, ...perRequest }));
    const verdict = read(await this.#answer(request, sent, terms));
    if (key !== null && terms.cacheMs > 0) {
      this.#verdicts.set(key, verdict, { ttl: terms.cacheMs });
    }
    return verdict;
  }

  async #answer(request: ServiceRequest, body: Buffer, terms: CallTerms): Promise<Answer> {
    const { name, tenant } = terms;
    const { origin } = new URL(request.url);
    // One organisation must not pause a service for the others.
    const destination = `${tenant?.organisationId ?? ''} ${origin}`;
    if (!this.#breakers.admits(destination)) {
      throw new CheckError(`${name} has failed repeatedly and is asked again in some seconds`);
    }
    let hasAnswered = false;
    let isSent = true;
    try {
      const response = await this.#send(request, body, terms);
      hasAnswered = response.status < 500 && response.status !== 429;
      return await answerIn(response, name);
    } catch (error) {
      if (!(error instanceof CallNotSent)) throw error;
      isSent = false;
      throw new CheckError(error.message);
    } finally {
      if (isSent) this.#breakers.note(destination, hasAnswered);
    }
  }

  /** Repeats a request once that the service has not processed; a repeated judgement changes nothing there. */
  async #send(request: ServiceRequest, body: Buffer, terms: CallTerms): Promise<OutboundResponse> {
    const first = await this.#attempt(request, body, terms).catch((error: unknown) => {
      if (error instanceof OutboundFailure && error.reason === 'lost') return error;
      throw checkErrorOf(error, terms.name);
    });
    const { signer } = request;
    let waitMs = retryDelayMs;
    if (!(first instanceof OutboundFailure)) {
      const isRenewed = signer?.renew(first) === true;
      if (!isRenewed && !retriedStatuses.has(first.status)) return first;
      waitMs = isRenewed ? 0 : Math.max(retryDelayMs, retryAfterMs(first));
    }
    const hasTime = this.#monotonicMs() + waitMs < terms.deadlineMs;
    if (hasTime) {
      await delay(waitMs);
      return this.#attempt(request, body, terms).catch((error: unknown) => {
        throw checkErrorOf(error, terms.name);
      });
    }
    if (first instanceof OutboundFailure) throw checkErrorOf(first, terms.name);
    return first;
  }

  async #attempt(
    { url, headers, signer, model, body: params }: ServiceRequest,
    body: Buffer,
    { name, deadlineMs, modelCalls }: CallTerms,
  ): Promise<OutboundResponse> {
    const timeoutMs = Math.floor(deadlineMs - this.#monotonicMs());
    if (timeoutMs <= 0) throw new CheckError(`${name} gave no answer in time`);
    if (model !== undefined) {
      if (modelCalls !== undefined) return modelCalls.post({ ...model, params, timeoutMs });
      throw new CallNotSent('the providers of the workspace cannot be called here');
    }
    const sent = { ...headers, 'content-type': 'application/json', accept: 'application/json' };
    const { origin, pathname, search } = new URL(url);
    const call: CallRequest = {
      origin,
      path: pathname + search,
      method: 'POST',
      headers: sent,
      body,
      silenceTimeoutMs: timeoutMs,
    };
    const signed = signer === undefined ? call : await signer.sign(call);
    return this.#outbound.request({
      url,
      method: 'POST',
      headers: signed.headers,
      body,
      timeoutMs: Math.max(1, Math.floor(deadlineMs - this.#monotonicMs())),
      answerBytesMax: Math.min(answerBytesMax, answerBytesMin + 3 * body.length),
    });
  }
}

/** Null where no verdict is reused. */
function digestOf(
  { url, headers, signer, model }: ServiceRequest,
  { tenant, check }: CallTerms,
  body: Buffer,
): string | null {
  if (tenant === undefined) return null;
  const mark = signer?.mark ?? (model === undefined ? null : `${model.provider} ${model.mark}`);
  const about = JSON.stringify([tenant.organisationId, check, url, headers, mark]);
  return hash('sha256', `${about}\n${hash('sha256', body)}`, 'base64');
}

function sizeOf({ changes = [], findings, reason = '' }: ServiceVerdict): number {
  let bytes = verdictBytes + 2 * (reason.length + findings.join('').length);
  for (const change of changes) {
    if (change === null) continue;
    bytes += 'text' in change ? 2 * change.text.length : 100 * change.spans.length;
  }
  return bytes;
}

async function answerIn({ status, body }: OutboundResponse, name: string): Promise<Answer> {
  if (status === 401 || status === 403) {
    throw new CheckError(`${name} refuses the credentials of the check (status ${status})`);
  }
  if (status < 200 || status > 299) throw new CheckError(`${name} returned status ${status}`);
  const answer = await readServiceAnswer(body, name);
  if (answer === null) throw new CheckError(`${name} returned something else than a JSON object`);
  if (isError(answer.error))
    throw new CheckError(`${name} returned an error with status ${status}`);
  return answer;
}

/** Whether a member is the description of an error; some services have a flag of the same name. */
function isError(value: unknown): boolean {
  return isObject(value)
    ? Object.keys(value).length > 0
    : typeof value === 'string' && value !== '';
}

function checkErrorOf(error: unknown, name: string): unknown {
  return error instanceof OutboundFailure ? new CheckError(`${name}: ${error.message}`) : error;
}

function retryAfterMs({ headers }: OutboundResponse): number {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}
