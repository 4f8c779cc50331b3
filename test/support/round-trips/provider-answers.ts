/** Writes answers in the formats of providers: whole, as streams, and as the turn that a provider takes back. */
import { type Answer, type AnswerPart, piecesOf, type Stop, type Usage } from './answers.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ProviderFormat {
  readonly dialect: 'openai' | 'anthropic' | 'gemini' | 'converse';
  /** A service of the format that takes reasoning back. */
  readonly service: string;
  whole(answer: Answer): Json;
  /** The events of a stream; `at` cuts texts into pieces. */
  stream(answer: Answer, at: readonly number[]): readonly (Json | '[DONE]')[];
  /** The turn of the model in a later request. */
  turn(answer: Answer): unknown;
  /** The turn of the model in a request to the provider; its place is after the first of the user. */
  turnIn(request: Json): unknown;
}

function partsOf<Kind extends AnswerPart['kind']>(
  { parts }: Answer,
  kind: Kind,
): Extract<AnswerPart, { kind: Kind }>[] {
  return parts.filter((part) => part.kind === kind) as Extract<AnswerPart, { kind: Kind }>[];
}

// Chats, with the reasoning details of OpenRouter.

const chatStops: Readonly<Record<Stop, string>> = {
  end: 'stop',
  calls: 'tool_calls',
  length: 'length',
  filter: 'content_filter',
};

function chatUsage(usage: Usage): Json {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

function chatDetails(answer: Answer): Json[] {
  return answer.parts
    .filter(({ kind }) => kind === 'thought' || kind === 'hidden')
    .map((part, index) => {
      const about = { format: 'other-v1', index };
      if (part.kind === 'hidden') return { type: 'reasoning.encrypted', data: part.data, ...about };
      const { text, signature } = part as Extract<AnswerPart, { kind: 'thought' }>;
      return { type: 'reasoning.text', text, signature, ...about };
    });
}

function textOf(answer: Answer, kind: 'thought' | 'text' | 'refusal'): string {
  return partsOf(answer, kind)
    .map(({ text }) => text)
    .join('');
}

function chatCalls(answer: Answer): Json[] {
  return partsOf(answer, 'call').map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
}

function chatAnnotations(answer: Answer): Json[] {
  return partsOf(answer, 'text').flatMap(({ text, cited }) =>
    cited.map((one) => ({
      type: 'url_citation',
      url_citation: { ...one, start_index: 0, end_index: text.length },
    })),
  );
}

function chatMessage(answer: Answer): Json {
  const [details, calls, annotations] = [
    chatDetails(answer),
    chatCalls(answer),
    chatAnnotations(answer),
  ];
  const thought = textOf(answer, 'thought');
  return {
    role: 'assistant',
    content: textOf(answer, 'text') || null,
    refusal: textOf(answer, 'refusal') || null,
    ...(thought === '' ? {} : { reasoning: thought }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

const chatHead = { id: 'chatcmpl-1', created: 1, model: 'm' };

export const chatProvider: ProviderFormat = {
  dialect: 'openai',
  service: 'openrouter',
  whole: (answer) => ({
    ...chatHead,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: chatMessage(answer),
        logprobs: null,
        finish_reason: chatStops[answer.stop],
      },
    ],
    usage: chatUsage(answer.usage),
  }),
  stream(answer, at) {
    const deltas: Json[] = [{ role: 'assistant', content: '' }];
    for (const detail of chatDetails(answer)) {
      const { text, signature, ...rest } = detail;
      if (text === undefined) deltas.push({ reasoning_details: [detail] });
      else {
        for (const piece of piecesOf(String(text), at)) {
          deltas.push({ reasoning: piece, reasoning_details: [{ ...rest, text: piece }] });
        }
        deltas.push({ reasoning_details: [{ ...rest, signature }] });
      }
    }
    for (const name of ['content', 'refusal'] as const) {
      const text = textOf(answer, name === 'content' ? 'text' : 'refusal');
      if (text !== '') deltas.push(...piecesOf(text, at).map((piece) => ({ [name]: piece })));
    }
    const annotations = chatAnnotations(answer);
    if (annotations.length > 0) deltas.push({ annotations });
    for (const [index, call] of chatCalls(answer).entries()) {
      const { name, arguments: text } = call.function as Record<'name' | 'arguments', string>;
      deltas.push({ tool_calls: [{ index, ...call, function: { name, arguments: '' } }] });
      for (const piece of piecesOf(text, at)) {
        deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
      }
    }
    const head = { ...chatHead, object: 'chat.completion.chunk' };
    const chunk = (delta: Json, finish: string | null) => ({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    });
    return [
      ...deltas.map((delta) => chunk(delta, null)),
      chunk({}, chatStops[answer.stop]),
      { ...head, choices: [], usage: chatUsage(answer.usage) },
      '[DONE]',
    ];
  },
  turn(answer) {
    const calls = chatCalls(answer);
    const details = chatDetails(answer);
    const spoken = textOf(answer, 'text') + textOf(answer, 'refusal');
    return {
      role: 'assistant',
      content: spoken === '' ? null : spoken,
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
  },
  turnIn: ({ messages }) => (messages as Json[])[1],
};

/** Google by its address for chats: it signs the first call, and shows no thoughts. */
function signedByGoogle({ tool_calls: calls, ...message }: Json): Json {
  if (calls === undefined) return message;
  const [first, ...others] = calls as Json[];
  const extra_content = { google: { thought_signature: 'c2lnbmVk' } };
  return { ...message, tool_calls: [{ ...first, extra_content }, ...others] };
}

export const googleChatProvider: ProviderFormat = {
  ...chatProvider,
  service: 'google',
  whole(answer) {
    const body = chatProvider.whole(answer);
    const [choice] = body.choices as Json[];
    return { ...body, choices: [{ ...choice, message: signedByGoogle(choice!.message as Json) }] };
  },
  stream(answer, at) {
    let isSigned = false;
    return chatProvider.stream(answer, at).map((event) => {
      const [choice] = event === '[DONE]' ? [] : (event.choices as Json[]);
      const delta = choice?.delta as Json | undefined;
      if (isSigned || delta?.tool_calls === undefined) return event;
      isSigned = true;
      return { ...(event as Json), choices: [{ ...choice, delta: signedByGoogle(delta) }] };
    });
  },
  turn: (answer) => signedByGoogle(chatProvider.turn(answer) as Json),
};

// Messages of Anthropic.

const messageStops: Readonly<Record<Stop, string>> = {
  end: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  filter: 'refusal',
};

function messageBlock(part: AnswerPart): Json {
  switch (part.kind) {
    case 'thought':
      return { type: 'thinking', thinking: part.text, signature: part.signature };
    case 'hidden':
      return { type: 'redacted_thinking', data: part.data };
    case 'call':
      return { type: 'tool_use', id: part.id, name: part.name, input: part.args };
    default:
      return { type: 'text', text: part.text };
  }
}

function citationsOf(part: AnswerPart): Json[] {
  if (part.kind !== 'text') return [];
  return part.cited.map((one) => ({
    type: 'web_search_result_location',
    ...one,
    cited_text: 'cited',
    encrypted_index: 'aW5kZXg=',
  }));
}

function messageUsage(usage: Usage): Json {
  return {
    input_tokens: usage.input - usage.cached - usage.written,
    cache_read_input_tokens: usage.cached,
    cache_creation_input_tokens: usage.written,
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
  };
}

const messageHead = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };

function blockEvents(part: AnswerPart, index: number, at: readonly number[]): Json[] {
  const block = messageBlock(part);
  const started = (empty: Json): Json => ({
    type: 'content_block_start',
    index,
    content_block: { ...block, ...empty },
  });
  const delta = (type: string, more: Json): Json => ({
    type: 'content_block_delta',
    index,
    delta: { type, ...more },
  });
  const stop = { type: 'content_block_stop', index };
  switch (part.kind) {
    case 'hidden':
      return [started({}), stop];
    case 'thought':
      return [
        started({ thinking: '', signature: '' }),
        ...piecesOf(part.text, at).map((thinking) => delta('thinking_delta', { thinking })),
        delta('signature_delta', { signature: part.signature }),
        stop,
      ];
    case 'call':
      return [
        started({ input: {} }),
        ...piecesOf(JSON.stringify(part.args), at).map((partial_json) =>
          delta('input_json_delta', { partial_json }),
        ),
        stop,
      ];
    default:
      return [
        started({ text: '' }),
        ...piecesOf(part.text, at).map((text) => delta('text_delta', { text })),
        ...citationsOf(part).map((citation) => delta('citations_delta', { citation })),
        stop,
      ];
  }
}

export const messagesProvider: ProviderFormat = {
  dialect: 'anthropic',
  service: 'anthropic',
  whole: (answer) => ({
    ...messageHead,
    content: answer.parts.map((part) => {
      const citations = citationsOf(part);
      return { ...messageBlock(part), ...(citations.length === 0 ? {} : { citations }) };
    }),
    stop_reason: messageStops[answer.stop],
    stop_sequence: null,
    usage: messageUsage(answer.usage),
  }),
  stream: (answer, at) => [
    {
      type: 'message_start',
      message: {
        ...messageHead,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...messageUsage(answer.usage), output_tokens: 1 },
      },
    },
    { type: 'ping' },
    ...answer.parts.flatMap((part, index) => blockEvents(part, index, at)),
    {
      type: 'message_delta',
      delta: { stop_reason: messageStops[answer.stop], stop_sequence: null },
      usage: {
        output_tokens: answer.usage.output,
        output_tokens_details: { thinking_tokens: answer.usage.reasoning },
      },
    },
    { type: 'message_stop' },
  ],
  turn: (answer) => ({ role: 'assistant', content: answer.parts.map(messageBlock) }),
  turnIn: ({ messages }) => (messages as Json[])[1],
};

// Gemini's own format.

const geminiStops: Readonly<Record<Stop, string>> = {
  end: 'STOP',
  calls: 'STOP',
  length: 'MAX_TOKENS',
  filter: 'SAFETY',
};

function geminiPart(part: AnswerPart): Json {
  switch (part.kind) {
    case 'thought':
      return { text: part.text, thought: true, thoughtSignature: part.signature };
    case 'call':
      return { functionCall: { id: part.id, name: part.name, args: part.args } };
    case 'hidden':
      throw new Error('Gemini hides no thoughts');
    default:
      return { text: part.text };
  }
}

/** Gemini signs the first call of a turn, or the last text. */
function geminiParts({ parts }: Answer): Json[] {
  const firstCall = parts.findIndex(({ kind }) => kind === 'call');
  return parts.map((part, at) => {
    const isSigned = at === firstCall || (part.kind === 'text' && at === parts.length - 1);
    return isSigned ? { ...geminiPart(part), thoughtSignature: 'c2lnbmVk' } : geminiPart(part);
  });
}

function geminiUsage(usage: Usage): Json {
  return {
    promptTokenCount: usage.input,
    cachedContentTokenCount: usage.cached,
    candidatesTokenCount: usage.output - usage.reasoning,
    thoughtsTokenCount: usage.reasoning,
    totalTokenCount: usage.input + usage.output,
  };
}

const geminiHead = { responseId: 'g1', modelVersion: 'm' };

export const geminiProvider: ProviderFormat = {
  dialect: 'gemini',
  service: 'google',
  whole: (answer) => ({
    ...geminiHead,
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: geminiParts(answer) },
        finishReason: geminiStops[answer.stop],
      },
    ],
    usageMetadata: geminiUsage(answer.usage),
  }),
  stream(answer, at) {
    const events = geminiParts(answer).flatMap((part): Json[] => {
      const { text, thoughtSignature, ...rest } = part;
      if (typeof text !== 'string') return [part];
      const pieces = piecesOf(text, at).map((piece): Json => ({ ...rest, text: piece }));
      if (thoughtSignature === undefined) return pieces;
      return [...pieces.slice(0, -1), { ...pieces.at(-1), thoughtSignature }];
    });
    const eventOf = (parts: Json[], more: Json = {}): Json => ({
      ...geminiHead,
      candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
      usageMetadata: geminiUsage(answer.usage),
    });
    const last = events.pop()!;
    return [
      ...events.map((part) => eventOf([part])),
      eventOf([last], { finishReason: geminiStops[answer.stop] }),
    ];
  },
  turn: (answer) => ({ role: 'model', parts: geminiParts(answer) }),
  turnIn: ({ contents }) => (contents as Json[])[1],
};

// Converse of Amazon Bedrock.

const converseStops: Readonly<Record<Stop, string>> = {
  end: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  filter: 'content_filtered',
};

function converseBlock(part: AnswerPart): Json {
  switch (part.kind) {
    case 'thought':
      return {
        reasoningContent: { reasoningText: { text: part.text, signature: part.signature } },
      };
    case 'hidden':
      return { reasoningContent: { redactedContent: part.data } };
    case 'call':
      return { toolUse: { toolUseId: part.id, name: part.name, input: part.args } };
    default:
      return { text: part.text };
  }
}

function converseUsage(usage: Usage): Json {
  const inputTokens = usage.input - usage.cached - usage.written;
  return {
    inputTokens,
    outputTokens: usage.output,
    totalTokens: usage.input + usage.output,
    cacheReadInputTokens: usage.cached,
    cacheWriteInputTokens: usage.written,
  };
}

function converseEvents(part: AnswerPart, contentBlockIndex: number, at: readonly number[]) {
  const delta = (more: Json): Json => ({ contentBlockDelta: { contentBlockIndex, delta: more } });
  const stop = { contentBlockStop: { contentBlockIndex } };
  switch (part.kind) {
    case 'thought':
      return [
        ...piecesOf(part.text, at).map((text) => delta({ reasoningContent: { text } })),
        delta({ reasoningContent: { signature: part.signature } }),
        stop,
      ];
    case 'hidden':
      return [delta({ reasoningContent: { redactedContent: part.data } }), stop];
    case 'call': {
      const toolUse = { toolUseId: part.id, name: part.name };
      return [
        { contentBlockStart: { contentBlockIndex, start: { toolUse } } },
        ...piecesOf(JSON.stringify(part.args), at).map((input) => delta({ toolUse: { input } })),
        stop,
      ];
    }
    default:
      return [...piecesOf(part.text, at).map((text) => delta({ text })), stop];
  }
}

export const converseProvider: ProviderFormat = {
  dialect: 'converse',
  service: 'bedrock',
  whole: (answer) => ({
    output: { message: { role: 'assistant', content: answer.parts.map(converseBlock) } },
    stopReason: converseStops[answer.stop],
    usage: converseUsage(answer.usage),
  }),
  stream: (answer, at) => [
    { messageStart: { role: 'assistant' } },
    ...answer.parts.flatMap((part, index) => converseEvents(part, index, at)),
    { messageStop: { stopReason: converseStops[answer.stop] } },
    { metadata: { usage: converseUsage(answer.usage) } },
  ],
  turn: (answer) => ({ role: 'assistant', content: answer.parts.map(converseBlock) }),
  turnIn: ({ messages }) => (messages as Json[])[1],
};

/** The bytes of a stream of events. */
export function bytesOf(events: readonly (Json | '[DONE]')[]): Buffer {
  const lines = events.map((event) => {
    const name =
      event === '[DONE]' || typeof event.type !== 'string' ? '' : `event: ${event.type}\n`;
    return `${name}data: ${event === '[DONE]' ? event : JSON.stringify(event)}\n\n`;
  });
  return Buffer.from(lines.join(''));
}
