/** States what becomes of each member of a request of Converse that is translated to a chat. */
import {
  type FormatRules,
  hint,
  implied,
  mapped,
  memberRules,
  type ObjectShape,
  refusal,
} from '../documents/member-rules.ts';

const ofSdk = { $unknown: implied('the SDK does not send it') };
const noFilm = refusal('chats have no film');
const noSound = refusal('send it as `input_audio` of a chat');
const mark = mapped('`cache_control` of the part before it, where the service takes one');

const systemShape: ObjectShape = {
  name: 'system prompt',
  places: /^system\[\]$/,
  kinds: {
    '': memberRules({
      text: mapped('text'),
      guardContent: mapped('text'),
      cachePoint: mark,
      ...ofSdk,
    }),
  },
};

export const requestShape = {
  name: 'request',
  places: /^$/,
  kinds: {
    '': memberRules({
      modelId: implied('in the path'),
      model: mapped('`model`; it is in the path'),
      stream: mapped('`stream`; it is in the path'),
      messages: mapped('`messages`'),
      system: mapped('a message of `system`'),
      inferenceConfig: mapped('the members of a chat'),
      toolConfig: mapped('`tools`, `tool_choice`'),
      outputConfig: mapped('`response_format`, `reasoning_effort`'),
      serviceTier: mapped('`service_tier`'),
      additionalModelRequestFields: mapped('`top_k` and `thinking`; others are refused'),
      additionalModelResponseFieldPaths: hint(),
      requestMetadata: hint(),
      performanceConfig: hint(),
      guardrailConfig: refusal('Bedrock runs it; the gateway has its own'),
      promptVariables: refusal('use a prompt of the gateway'),
    }),
  },
} satisfies ObjectShape;

export const inferenceShape = {
  name: 'inference config',
  places: /^inferenceConfig$/,
  kinds: {
    '': memberRules({
      maxTokens: mapped('`max_completion_tokens` at OpenAI and Azure, else `max_tokens`'),
      temperature: mapped('`temperature`'),
      topP: mapped('`top_p`'),
      stopSequences: mapped('`stop`'),
    }),
  },
} satisfies ObjectShape;

export const toolConfigShape = {
  name: 'tool config',
  places: /^toolConfig$/,
  kinds: { '': memberRules({ tools: mapped('`tools`'), toolChoice: mapped('`tool_choice`') }) },
} satisfies ObjectShape;

const toolShape: ObjectShape = {
  name: 'tool',
  places: /^toolConfig\.tools\[\]$/,
  kinds: {
    '': memberRules({
      toolSpec: mapped('`function`'),
      cachePoint: mark,
      systemTool: refusal('Bedrock runs it'),
      ...ofSdk,
    }),
  },
};

export const specShape = {
  name: 'tool specification',
  places: /^toolConfig\.tools\[\]\.toolSpec$/,
  kinds: {
    '': memberRules({
      name: mapped('`function.name`'),
      description: mapped('`function.description`'),
      inputSchema: mapped('`function.parameters`'),
      strict: mapped('`function.strict`'),
    }),
  },
} satisfies ObjectShape;

const schemaShape: ObjectShape = {
  name: 'input schema',
  places: /^toolConfig\.tools\[\]\.toolSpec\.inputSchema$/,
  kinds: { '': memberRules({ json: mapped('`function.parameters`'), ...ofSdk }) },
};

export const choiceShape = {
  name: 'tool choice',
  places: /^toolConfig\.toolChoice$/,
  kinds: {
    '': memberRules({
      auto: implied('the usual choice'),
      any: mapped('`required`'),
      tool: mapped('`function.name`'),
      ...ofSdk,
    }),
  },
} satisfies ObjectShape;

export const outputShape = {
  name: 'output config',
  places: /^outputConfig$/,
  kinds: {
    '': memberRules({
      textFormat: mapped('`response_format`'),
      effort: mapped('`reasoning_effort`'),
    }),
  },
} satisfies ObjectShape;

export const messageShape = {
  name: 'message',
  places: /^messages\[\]$/,
  kinds: {
    '': memberRules({
      role: mapped('`role`'),
      content: mapped('content, `tool_calls`, messages of `tool`'),
    }),
  },
} satisfies ObjectShape;

/** A block has one member of these; the translation refuses a block without a mapped one as a whole. */
export const blockShape = {
  name: 'content block',
  places: /^messages\[\]\.content\[\]$/,
  kinds: {
    '': memberRules({
      text: mapped('text'),
      image: mapped('`image_url`, by a data URL'),
      document: mapped('`file` by a data URL, or a text'),
      toolUse: mapped('`tool_calls`'),
      toolResult: mapped('a message of `tool`; pictures and files follow in a message of `user`'),
      guardContent: mapped('text'),
      searchResult: mapped('text'),
      citationsContent: mapped('text'),
      reasoningContent: mapped('for services that take [reasoning of earlier turns](#reasoning)'),
      cachePoint: mark,
      video: noFilm,
      audio: noSound,
      toolAddition: refusal('send all tools in `toolConfig`'),
      toolRemoval: refusal('send all tools in `toolConfig`'),
      ...ofSdk,
    }),
  },
} satisfies ObjectShape;

export const useShape = {
  name: 'tool use',
  places: /^messages\[\]\.content\[\]\.toolUse$/,
  kinds: {
    '': memberRules({
      toolUseId: mapped('`id`'),
      name: mapped('`function.name`'),
      input: mapped('`function.arguments`'),
      type: implied(),
    }),
  },
} satisfies ObjectShape;

export const resultShape = {
  name: 'tool result',
  places: /^messages\[\]\.content\[\]\.toolResult$/,
  kinds: {
    '': memberRules({
      toolUseId: mapped('`tool_call_id`'),
      content: mapped('texts'),
      status: mapped('the prefix `Error: `'),
      type: implied(),
    }),
  },
} satisfies ObjectShape;

export const converseRequestRules: FormatRules = {
  from: 'Converse',
  to: 'a chat',
  shapes: [
    requestShape,
    systemShape,
    inferenceShape,
    toolConfigShape,
    toolShape,
    specShape,
    schemaShape,
    choiceShape,
    outputShape,
    messageShape,
    blockShape,
    useShape,
    resultShape,
  ],
};
