/** Reads answers in the form of Converse with the SDK of AWS, and writes the request that continues the conversation. */
import { Readable } from 'node:stream';
import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  ConverseStreamCommand,
  type ConverseStreamOutput,
  type ReasoningContentBlockDelta,
  type TokenUsage,
} from '@aws-sdk/client-bedrock-runtime';
import { HttpResponse } from '@smithy/protocol-http';
import { EventFrames } from '../../../src/upstream/frames/events-to-frames.ts';
import type { Meaning, Stop } from './answers.ts';
import type { CallerFormat, ReadAnswer } from './sdk-callers.ts';

type Json = Readonly<Record<string, unknown>>;

const question = 'Hello';
const toolNames = ['weather', 'read_file', 'search'];
const command = {
  modelId: 'm',
  messages: [{ role: 'user' as const, content: [{ text: question }] }],
};

function clientOf(chunks: readonly Buffer[], contentType: string): BedrockRuntimeClient {
  const headers = { 'content-type': contentType };
  const response = () =>
    new HttpResponse({ statusCode: 200, headers, body: Readable.from(chunks.map((one) => one)) });
  return new BedrockRuntimeClient({
    endpoint: 'http://gateway',
    region: 'us-east-1',
    token: { token: 'k' },
    authSchemePreference: ['httpBearerAuth'],
    maxAttempts: 1,
    requestHandler: { handle: async () => ({ response: response() }) },
  });
}

/** The blocks of an answer, as the SDK hands them to its program. */
interface ConverseAnswer {
  readonly content: readonly ContentBlock[];
  readonly stopReason: string;
  readonly usage: TokenUsage;
}

const stops: Readonly<Record<string, Stop>> = {
  end_turn: 'end',
  tool_use: 'calls',
  max_tokens: 'length',
  content_filtered: 'filter',
};

function readConverse({ content, stopReason, usage }: ConverseAnswer): ReadAnswer {
  const cached = usage.cacheReadInputTokens ?? 0;
  const written = usage.cacheWriteInputTokens ?? 0;
  const meaning: Meaning = {
    thought: content.map((one) => one.reasoningContent?.reasoningText?.text ?? '').join(''),
    text: content.map((one) => one.text ?? '').join(''),
    refusal: '',
    cited: [],
    calls: content.flatMap(({ toolUse: use }) =>
      use === undefined ? [] : [{ id: use.toolUseId!, name: use.name!, args: use.input }],
    ),
    stop: stops[stopReason]!,
    usage: {
      input: usage.inputTokens! + cached + written,
      cached,
      output: usage.outputTokens!,
    },
  };
  return { meaning, turn: { role: 'assistant', content: content.map(wireBlock) } };
}

/** The SDK has bytes where the wire has base64. */
function wireBlock(block: ContentBlock): Json {
  const bytes = block.reasoningContent?.redactedContent;
  if (bytes === undefined) return block as unknown as Json;
  return { reasoningContent: { redactedContent: Buffer.from(bytes).toString('base64') } };
}

/** Joins the events of a block, as programs do. */
function blocksOf(events: readonly ConverseStreamOutput[]): ContentBlock[] {
  const blocks = new Map<number, Record<string, unknown>>();
  for (const { contentBlockStart: start, contentBlockDelta: part } of events) {
    const at = (start ?? part)?.contentBlockIndex;
    if (at === undefined) continue;
    const block = blocks.get(at) ?? {};
    blocks.set(at, block);
    if (start?.start?.toolUse !== undefined) block.toolUse = { ...start.start.toolUse, input: '' };
    const { text, toolUse, reasoningContent } = part?.delta ?? {};
    if (text !== undefined) block.text = String(block.text ?? '') + text;
    if (toolUse !== undefined) {
      const use = block.toolUse as Record<string, unknown>;
      use.input = String(use.input) + toolUse.input;
    }
    if (reasoningContent !== undefined) addThought(block, reasoningContent);
  }
  return [...blocks.values()].map((block): ContentBlock => {
    const use = block.toolUse as Json | undefined;
    if (use === undefined) return block as unknown as ContentBlock;
    return { toolUse: { ...use, input: JSON.parse(String(use.input) || '{}') } } as ContentBlock;
  });
}

function addThought(block: Record<string, unknown>, part: ReasoningContentBlockDelta): void {
  const { text, signature, redactedContent } = part;
  if (redactedContent !== undefined) {
    block.reasoningContent = { redactedContent };
    return;
  }
  const before = Object((block.reasoningContent as Json | undefined)?.reasoningText) as Json;
  const joined = String(before.text ?? '') + (text ?? '');
  const signed = signature ?? before.signature;
  block.reasoningContent = {
    reasoningText: { text: joined, ...(signed === undefined ? {} : { signature: signed }) },
  };
}

export const converseCaller: CallerFormat = {
  path: '/model/converse',
  hasCitations: false,
  hasRefusals: false,
  request: (isStream) => ({
    model: 'm',
    messages: command.messages,
    toolConfig: {
      tools: toolNames.map((name) => ({
        toolSpec: { name, inputSchema: { json: { type: 'object', properties: {} } } },
      })),
    },
    ...(isStream ? { stream: true } : {}),
  }),
  async whole(body) {
    const sending = clientOf([body], 'application/json').send(new ConverseCommand(command));
    const { output, stopReason, usage } = await sending;
    return readConverse({
      content: output!.message!.content!,
      stopReason: stopReason!,
      usage: usage!,
    });
  },
  async stream(chunks) {
    const frames = new EventFrames('named');
    const bytes = [...chunks.map((chunk) => frames.pass(chunk)), frames.rest()];
    const client = clientOf(bytes, 'application/vnd.amazon.eventstream');
    const { stream } = await client.send(new ConverseStreamCommand(command));
    const events = await Array.fromAsync(stream!);
    const { stopReason } = events.find((one) => one.messageStop)!.messageStop!;
    const { usage } = events.find((one) => one.metadata)!.metadata!;
    return readConverse({ content: blocksOf(events), stopReason: stopReason!, usage: usage! });
  },
  next: ({ meaning, turn }) => {
    const request = converseCaller.request(false);
    const results = meaning.calls.map(({ id }) => ({
      toolResult: { toolUseId: id, content: [{ text: 'done' }] },
    }));
    const content = [...results, { text: question }];
    return {
      ...request,
      messages: [...(request.messages as Json[]), turn, { role: 'user', content }],
    };
  },
};
