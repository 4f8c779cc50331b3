/** Implements the checks that call other services: webhook, log and valid URLs. */
import { lookup } from 'node:dns/promises';
import { writeJson } from '../model/json/json-bytes.ts';
import { LoopTurns, runInTurns } from '../slices.ts';
import type { Outbound, OutboundRequest, OutboundResponse } from '../upstream/outbound.ts';
import {
  CheckError,
  type CheckRunner,
  type CheckSubject,
  makeOutcome,
  messageText,
  subjectText,
} from './check.ts';
import { readServiceAnswer } from './service-answer.ts';
import type { Passage } from './texts/passages.ts';
import { decodeText } from './texts/stored-text.ts';

type Parameters = Readonly<Record<string, unknown>>;
type CheckFactory = (parameters: Parameters, outbound: Outbound) => CheckRunner;

const defaultTimeoutMs = 3_000;
/** Maximum URLs of one text; the check reports an error if there are more. */
const addressesMax = 20;

/** Passages that are read between two interruptions. */
const passagesPerTurn = 1_000;

/** Passes according to the webhook's verdict; its `transformedData` replaces the checked text. */
const webhook: CheckFactory = (parameters, outbound) => {
  const { webhookURL, timeout } = parameters;
  return async (subject) => {
    const body = await runInTurns(writeJson(eventOf(subject)));
    const answer = await sendRequest(outbound, {
      url: String(webhookURL),
      method: 'POST',
      body,
      headers: webhookHeaders(parameters, subject),
      timeoutMs: timeoutOf(timeout),
    });
    if (answer.status < 200 || answer.status > 299) {
      throw new CheckError(`the webhook returned status ${answer.status}`);
    }
    const reply = await readServiceAnswer(answer.body, 'the webhook');
    if (typeof reply?.verdict !== 'boolean') {
      throw new CheckError('the webhook returned no verdict');
    }
    const explanation = `the webhook returned ${reply.verdict}`;
    return {
      passes: reply.verdict,
      explanation,
      data: reply.data,
      texts: await transformedTexts(reply.transformedData, subject),
    };
  };
};

/** The event that webhooks and logs receive. */
function eventOf(subject: CheckSubject): object {
  const { side, answer, params, isStream, provider, endpoint, metadata } = subject;
  const text = subjectText(subject);
  const isInput = side === 'input';
  return {
    request: {
      json: params,
      text: isInput ? text : '',
      isStreamingRequest: isStream,
      isTransformed: false,
    },
    response: {
      json: answer?.json ?? {},
      text: isInput ? '' : text,
      statusCode: answer?.status ?? null,
      isTransformed: false,
    },
    provider,
    requestType: endpoint,
    metadata,
    eventType: isInput ? 'beforeRequestHook' : 'afterRequestHook',
  };
}

/** Reads the replaced texts from a document with the structure of the checked one; undefined if unchanged. */
async function transformedTexts(
  data: unknown,
  { side, passages }: CheckSubject,
): Promise<string[] | undefined> {
  const key = side === 'input' ? 'request' : 'response';
  const json = ((data ?? {}) as Record<string, Parameters | undefined>)[key]?.json;
  if (typeof json !== 'object' || json === null) return undefined;
  const textOf = ({ path, text, isName, stored }: Passage): string => {
    if (isName === true) return text;
    let value: unknown = json;
    for (const step of path) value = (value as Record<string, unknown> | undefined)?.[step];
    if (typeof value !== 'string') return text;
    return stored === undefined ? value : decodeText(stored, value);
  };
  const texts: string[] = [];
  const turns = new LoopTurns();
  for (let at = 0; at < passages.length; at += passagesPerTurn) {
    const turn = turns.next();
    if (turn !== undefined) await turn;
    texts.push(...passages.slice(at, at + passagesPerTurn).map(textOf));
  }
  return texts.some((text, at) => text !== passages[at]!.text) ? texts : undefined;
}

/** The headers that the check sets, and those of the caller that it forwards. */
export function webhookHeaders(
  { headers, forwardHeaders }: Parameters,
  subject: CheckSubject,
): Record<string, string> {
  const forwarded = ((forwardHeaders ?? []) as readonly string[]).flatMap((name) => {
    const value = subject.headers[name.toLowerCase()];
    return typeof value === 'string' ? [[name.toLowerCase(), value] as const] : [];
  });
  const fixed = Object.entries((headers ?? {}) as Record<string, string>);
  return {
    ...Object.fromEntries(forwarded),
    ...Object.fromEntries(fixed.map(([name, value]) => [name.toLowerCase(), value])),
    'content-type': 'application/json',
    'x-gateway-trace-id': subject.traceId,
  };
}

/** Always passes; the explanation contains the status of the log service. */
const log: CheckFactory = (parameters, outbound) => async (subject) => {
  const body = await runInTurns(writeJson(eventOf(subject)));
  const { status } = await sendRequest(outbound, {
    url: String(parameters.logURL),
    method: 'POST',
    body,
    headers: webhookHeaders(parameters, subject),
    timeoutMs: timeoutOf(parameters.timeout),
  });
  return { passes: true, explanation: `the log returned status ${status}` };
};

/** Every URL in the text must respond, or with `onlyDNS`, its host must resolve. */
const validUrls: CheckFactory =
  ({ onlyDNS, not }, outbound) =>
  async (subject) => {
    const urls = new Set(messageText(subject).match(/https?:\/\/[^\s"'<>`)\]},]+/g));
    if (urls.size === 0) return { passes: false, explanation: 'there is no URL' };
    if (urls.size > addressesMax) throw new CheckError(`more than ${addressesMax} URLs`);
    const isValid = onlyDNS === true ? resolves : (url: string) => isReachable(url, outbound);
    const valid = await Promise.all([...urls].map(isValid));
    const explanation = `${valid.filter(Boolean).length} of ${urls.size} URLs are valid`;
    return makeOutcome(valid.every(Boolean), not, explanation);
  };

async function resolves(url: string): Promise<boolean> {
  if (!URL.canParse(url)) return false;
  return lookup(new URL(url).hostname).then(
    () => true,
    () => false,
  );
}

async function isReachable(url: string, outbound: Outbound): Promise<boolean> {
  const request = {
    url,
    method: 'HEAD',
    headers: {},
    body: null,
    timeoutMs: defaultTimeoutMs,
  } as const;
  return outbound.request(request).then(
    ({ status }) => status < 400,
    () => false,
  );
}

function sendRequest(outbound: Outbound, request: OutboundRequest): Promise<OutboundResponse> {
  return outbound.request(request).catch((error: Error) => {
    throw new CheckError(error.message);
  });
}

function timeoutOf(value: unknown): number {
  return typeof value === 'number' ? value : defaultTimeoutMs;
}

export const outboundChecks: Readonly<Record<string, CheckFactory>> = {
  'default.webhook': webhook,
  'default.log': log,
  'default.validurls': validUrls,
};
