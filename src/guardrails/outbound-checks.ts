/** Knows the checks that ask somebody else: a webhook for its verdict, a log that takes note, addresses whether they exist. */
import { lookup } from 'node:dns/promises';
import type { Outbound, OutboundAnswer, OutboundRequest } from '../upstream/outbound.ts';
import { CheckError, type Judge, type Subject, saying, textOf } from './check.ts';

type Parameters = Readonly<Record<string, unknown>>;
type Maker = (parameters: Parameters, outbound: Outbound) => Judge;

const usualTimeoutMs = 3_000;
/** Addresses of one text that are asked; one that has more is not judged by the rest. */
const addressesMax = 20;

/** Passes as the webhook says, whose `transformedData` takes the place of what was judged. */
const webhook: Maker = (parameters, outbound) => {
  const { webhookURL, timeout } = parameters;
  return async (subject) => {
    const body = Buffer.from(JSON.stringify(eventOf(subject)));
    const answer = await asked(outbound, {
      ...{ url: String(webhookURL), method: 'POST', body },
      headers: headersOf(parameters, subject),
      timeoutMs: timeoutOf(timeout),
    });
    if (answer.status < 200 || answer.status > 299) {
      throw new CheckError(`the webhook answered ${answer.status}`);
    }
    const said = parsed(answer.body);
    if (typeof said?.verdict !== 'boolean') throw new CheckError('the webhook gave no verdict');
    const explanation = `the webhook says ${said.verdict}`;
    return {
      ...{ passes: said.verdict, explanation, data: said.data },
      texts: transformedTexts(said.transformedData, subject),
    };
  };
};

/** What others read of a request or answer. */
function eventOf(subject: Subject): object {
  const { side, answer, params, isStream, provider, endpoint, metadata } = subject;
  const text = textOf(subject);
  const isInput = side === 'input';
  return {
    request: {
      ...{ json: params, text: isInput ? text : '' },
      ...{ isStreamingRequest: isStream, isTransformed: false },
    },
    response: {
      ...{ json: answer?.json ?? {}, text: isInput ? '' : text },
      ...{ statusCode: answer?.status ?? null, isTransformed: false },
    },
    ...{ provider, requestType: endpoint, metadata },
    eventType: isInput ? 'beforeRequestHook' : 'afterRequestHook',
  };
}

/** The place of the text in a document like the one that was judged; null where nothing was changed. */
function transformedTexts(data: unknown, { side, passages }: Subject): string[] | undefined {
  const place = side === 'input' ? 'request' : 'response';
  const json = ((data ?? {}) as Record<string, Parameters | undefined>)[place]?.json;
  if (typeof json !== 'object' || json === null) return undefined;
  const texts = passages.map(({ path, text }) => {
    let found: unknown = json;
    for (const step of path) found = (found as Record<string, unknown> | undefined)?.[step];
    return typeof found === 'string' ? found : text;
  });
  return texts.some((text, at) => text !== passages[at]!.text) ? texts : undefined;
}

function headersOf({ headers, forwardHeaders }: Parameters, subject: Subject) {
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

/** Always passes; whether anybody took note is told. */
const log: Maker = (parameters, outbound) => async (subject) => {
  const body = Buffer.from(JSON.stringify(eventOf(subject)));
  const { status } = await asked(outbound, {
    ...{ url: String(parameters.logURL), method: 'POST', body },
    headers: headersOf(parameters, subject),
    timeoutMs: timeoutOf(parameters.timeout),
  });
  return { passes: true, explanation: `the log answered ${status}` };
};

/** Each address in the text answers, or with `onlyDNS` is known by name. */
const validUrls: Maker =
  ({ onlyDNS, not }, outbound) =>
  async (subject) => {
    const urls = new Set(textOf(subject).match(/https?:\/\/[^\s"'<>`)\]},]+/g));
    if (urls.size === 0) return { passes: false, explanation: 'there is no address' };
    if (urls.size > addressesMax) throw new CheckError(`more than ${addressesMax} addresses`);
    const asks = onlyDNS === true ? isNamed : (url: string) => answers(url, outbound);
    const known = await Promise.all([...urls].map(asks));
    const explanation = `${known.filter(Boolean).length} of ${urls.size} addresses are valid`;
    return saying(known.every(Boolean), not, explanation);
  };

async function isNamed(url: string): Promise<boolean> {
  if (!URL.canParse(url)) return false;
  return lookup(new URL(url).hostname).then(
    () => true,
    () => false,
  );
}

async function answers(url: string, outbound: Outbound): Promise<boolean> {
  const request = {
    url,
    method: 'HEAD',
    headers: {},
    body: null,
    timeoutMs: usualTimeoutMs,
  } as const;
  return outbound.request(request).then(
    ({ status }) => status < 400,
    () => false,
  );
}

function asked(outbound: Outbound, request: OutboundRequest): Promise<OutboundAnswer> {
  return outbound.request(request).catch((error: Error) => {
    throw new CheckError(error.message);
  });
}

function timeoutOf(value: unknown): number {
  return typeof value === 'number' ? value : usualTimeoutMs;
}

function parsed(body: Buffer): Parameters | null {
  try {
    return JSON.parse(body.toString('utf8')) as Parameters | null;
  } catch {
    return null;
  }
}

export const outboundChecks: Readonly<Record<string, Maker>> = {
  'default.webhook': webhook,
  'default.log': log,
  'default.validurls': validUrls,
};
