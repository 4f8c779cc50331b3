/** Implements the checks of tool calls, declared tools and parameters, and the one that inlines images. */
import { LoopTurns } from '../slices.ts';
import type { Outbound } from '../upstream/outbound.ts';
import { type FetchedImage, imageAddressesIn, imageTypeOf } from './calls/image-addresses.ts';
import { brokenRules, type RequestParameterRules } from './calls/request-parameters.ts';
import {
  judgeToolCall,
  readToolRules,
  type ToolArgumentParameters,
} from './calls/tool-argument-rules.ts';
import { type ToolCall, toolCallsIn } from './calls/tool-calls.ts';
import { CheckError, type CheckRunner, type CheckSubject } from './check.ts';
import type { Searches } from './searches.ts';

type Parameters = Readonly<Record<string, unknown>>;

interface CallTools {
  readonly searches: Searches;
  readonly outbound: Outbound;
}

type CheckFactory = (parameters: Parameters, tools: CallTools) => CheckRunner;

/** Every call must fulfil the rules for its tool; a request or response without calls passes. */
const toolArguments: CheckFactory = (parameters, { searches }) => {
  const rules = readToolRules(parameters as ToolArgumentParameters);
  const find = (pattern: string, text: string) => searches.find(pattern, '', text);
  return async (subject) => {
    const calls = callsOf(subject);
    const turns = new LoopTurns();
    for (const call of calls) {
      const turn = turns.next();
      if (turn !== undefined) await turn;
      const verdict = await judgeToolCall(call, rules, find);
      if (verdict.kind === 'unjudged') throw new CheckError(verdict.reason);
      if (verdict.kind === 'failed') return { passes: false, explanation: verdict.reason };
    }
    return { passes: true, explanation: `${calls.length} calls of tools fulfil the rules` };
  };
};

/** The calls of a response, of an MCP request, or of the messages of a request. */
function callsOf({ side, endpoint, answer, params, model, toolCalls }: CheckSubject) {
  if (toolCalls !== undefined) return toolCalls();
  if (side === 'output') return toolCallsIn(answer?.json);
  if (endpoint !== 'tools/call') return toolCallsIn(params);
  const call: ToolCall = { tool: model ?? '', input: params.arguments };
  return [call];
}

const requestParameters: CheckFactory =
  (parameters) =>
  ({ side, params }) => {
    if (side === 'output') throw new CheckError('parameters of requests can be judged only there');
    const broken = brokenRules(params, parameters as RequestParameterRules);
    const explanation =
      broken.length === 0 ? 'the request fulfils the rules' : `not allowed: ${broken.join(', ')}`;
    return { passes: broken.length === 0, explanation };
  };

const imagesMax = 20;
const allBytesMax = 64 * 1024 * 1024;
const imageDefaults = { maxSizeBytes: 20 * 1024 * 1024, timeoutMs: 30_000 };

/** Replaces addresses of images by the images, for providers that cannot fetch them. */
const inlineImages: CheckFactory = (parameters, { outbound }) => {
  const { providers } = parameters as { readonly providers?: readonly string[] };
  const { maxSizeBytes, timeoutMs } = { ...imageDefaults, ...parameters };
  return async ({ side, params, provider }) => {
    if (side === 'output') throw new CheckError('images can be inlined in requests only');
    const isListed =
      providers === undefined || providers.length === 0 || providers.includes(withoutAt(provider));
    const found = isListed ? imageAddressesIn(params) : [];
    if (found.length > imagesMax) throw new CheckError(`more than ${imagesMax} images`);
    const members: { readonly path: readonly (string | number)[]; readonly value: unknown }[] = [];
    const byUrl = new Map<string, FetchedImage>();
    let bytes = 0;
    // One time limit for all images, so that many slow ones delay a request no longer than one.
    const deadline = performance.now() + timeoutMs;
    for (const { url, path, replacement } of found) {
      const limit = Math.min(maxSizeBytes, allBytesMax - bytes);
      const image = byUrl.get(url) ?? (await fetchImage(outbound, url, limit, deadline));
      byUrl.set(url, image);
      bytes += image.data.length;
      members.push({ path, value: replacement(image) });
    }
    const explanation = `${found.length} images were inlined`;
    return { passes: true, explanation, members: members.length === 0 ? undefined : members };
  };
};

function withoutAt(provider: string): string {
  return provider.replace(/^@/, '');
}

async function fetchImage(
  outbound: Outbound,
  url: string,
  bytesMax: number,
  deadline: number,
): Promise<FetchedImage> {
  const timeoutMs = Math.ceil(deadline - performance.now());
  if (timeoutMs <= 0) throw new CheckError('the images cannot be fetched in time');
  const request = { url, method: 'GET', headers: { accept: 'image/*' }, body: null } as const;
  const { status, body } = await outbound
    .request({ ...request, timeoutMs, answerBytesMax: Math.max(0, bytesMax) })
    .catch((error: Error) => {
      throw new CheckError(`an image cannot be fetched: ${error.message}`);
    });
  if (status !== 200)
    throw new CheckError(`an image cannot be fetched: its server returned ${status}`);
  const mediaType = imageTypeOf(body);
  if (mediaType === null)
    throw new CheckError('an address leads to no PNG, JPEG, GIF or WebP image');
  return { mediaType, data: body.toString('base64') };
}

export const callChecks: Readonly<Record<string, CheckFactory>> = {
  'gatewright.toolarguments': toolArguments,
  'default.requestparameterscheck': requestParameters,
  'default.inlineimageurls': inlineImages,
};
