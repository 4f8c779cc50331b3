/** States what becomes of each member of a request in Gemini's form that is translated to a chat. */
import {
  carried,
  type FormatRules,
  hint,
  implied,
  type MemberRules,
  mapped,
  memberRules,
  type ObjectShape,
  optionalTool,
  refusal,
} from '../documents/member-rules.ts';

const ofSdk = implied('the SDK does not send it');
const otherFilter = hint('other providers filter in their own way');
const optional = optionalTool('Google runs it');
const ranByGoogle = refusal('Google runs it');
const noSound = refusal('the answer has no sound');
const noPicture = refusal('the answer has no pictures');

export const requestShape = {
  name: 'request',
  places: /^$/,
  kinds: {
    '': memberRules({
      model: mapped('`model`; it is in the path'),
      stream: mapped('`stream`; it is in the path'),
      contents: mapped('`messages`'),
      systemInstruction: mapped('a message of `system`'),
      tools: mapped('`tools`'),
      toolConfig: mapped('`tool_choice`'),
      generationConfig: mapped('the members of a chat'),
      safetySettings: otherFilter,
      modelArmorConfig: otherFilter,
      labels: hint(),
      serviceTier: hint(),
      store: hint(),
      cachedContent: refusal('it is stored at Google'),
      continuationToken: refusal(),
      automaticContinuation: refusal(),
      generationOutputConfig: refusal(),
      httpOptions: ofSdk,
      abortSignal: ofSdk,
      automaticFunctionCalling: ofSdk,
    }),
  },
} satisfies ObjectShape;

export const settingsShape = {
  name: 'generation config',
  places: /^generationConfig$/,
  kinds: {
    '': memberRules({
      maxOutputTokens: mapped('`max_completion_tokens` at OpenAI and Azure, else `max_tokens`'),
      temperature: mapped('kept, but a hint for models of OpenAI that reason'),
      topP: mapped('`top_p`, as the temperature; a hint beside one at Anthropic'),
      topK: mapped('`top_k` at Anthropic, else left out as a hint'),
      seed: carried(),
      presencePenalty: mapped('`presence_penalty`, as the temperature'),
      frequencyPenalty: mapped('`frequency_penalty`, as the temperature'),
      candidateCount: mapped('`n`'),
      stopSequences: mapped('`stop`'),
      responseLogprobs: mapped('`logprobs`'),
      logprobs: mapped('`top_logprobs`'),
      responseMimeType: mapped('`response_format`'),
      responseSchema: mapped('`response_format.json_schema`'),
      responseJsonSchema: mapped('`response_format.json_schema`'),
      responseModalities: mapped('text alone; others are refused'),
      thinkingConfig: mapped('`reasoning_effort`'),
      mediaResolution: hint(),
      audioTimestamp: hint(),
      enableAffectiveDialog: hint(),
      enableEnhancedCivicAnswers: hint(),
      responseFormat: refusal('`responseMimeType` and a schema say it'),
      imageConfig: noPicture,
      speechConfig: noSound,
      audioTranscriptionConfig: noSound,
      translationConfig: noSound,
      routingConfig: refusal('the config of the gateway selects the model'),
      modelSelectionConfig: refusal('the config of the gateway selects the model'),
    }),
  },
} satisfies ObjectShape;

export const thinkingShape = {
  name: 'thinking config',
  places: /^generationConfig\.thinkingConfig$/,
  kinds: {
    '': memberRules({
      thinkingBudget: mapped('`reasoning_effort`: `low` to 2,048, `medium` to 12,288, else `high`'),
      thinkingLevel: mapped('`reasoning_effort`'),
      includeThoughts: implied('reasoning is returned where the provider sends it'),
    }),
  },
} satisfies ObjectShape;

const contentShape = {
  name: 'content',
  places: /^contents\[\]$/,
  kinds: {
    '': memberRules({
      role: mapped('`model` is `assistant`, `function` is `user`'),
      parts: mapped('content, `tool_calls`, messages of `tool`'),
    }),
  },
} satisfies ObjectShape;

export const partShape = {
  name: 'part',
  places: /^contents\[\]\.parts\[\]$/,
  kinds: {
    '': memberRules({
      text: mapped('text, or reasoning beside `thought`'),
      thought: mapped('for services that take [reasoning of earlier turns](#reasoning)'),
      thoughtSignature: mapped('returned to the family that issued it'),
      inlineData: mapped('`image_url`, `input_audio` or `file`'),
      fileData: mapped('`image_url` of a picture on the web; others are refused'),
      functionCall: mapped('`tool_calls`'),
      functionResponse: mapped('a message of `tool`'),
      executableCode: mapped('a code block in the text'),
      codeExecutionResult: mapped('a code block in the text'),
      mediaResolution: hint(),
      partMetadata: hint(),
      mediaProcessing: hint(),
      videoMetadata: refusal('chats have no film'),
      audioTranscription: refusal(),
      speechMetadata: refusal(),
      toolCall: ranByGoogle,
      toolResponse: ranByGoogle,
    }),
  },
} satisfies ObjectShape;

const dataShape = {
  name: 'inline data',
  places: /^contents\[\]\.parts\[\]\.inlineData$/,
  kinds: {
    '': memberRules({
      data: mapped('data URL'),
      mimeType: mapped('data URL'),
      displayName: mapped('`filename`'),
    }),
  },
} satisfies ObjectShape;

const fileShape = {
  name: 'file data',
  places: /^contents\[\]\.parts\[\]\.fileData$/,
  kinds: {
    '': memberRules({
      fileUri: mapped('`image_url.url`'),
      mimeType: implied(),
      displayName: implied(),
    }),
  },
} satisfies ObjectShape;

const codeShape = {
  name: 'code and its result',
  places: /^contents\[\]\.parts\[\]\.(?:executableCode|codeExecutionResult)$/,
  kinds: {
    '': memberRules({
      code: mapped('a code block'),
      output: mapped('a code block'),
      language: implied('Python'),
      outcome: implied('in the output'),
      id: implied(),
    }),
  },
} satisfies ObjectShape;

export const callShape = {
  name: 'function call',
  places: /^contents\[\]\.parts\[\]\.functionCall$/,
  kinds: {
    '': memberRules({
      id: mapped('`id`, or one by the order of the calls'),
      name: mapped('`function.name`'),
      args: mapped('`function.arguments`'),
      partialArgs: refusal('send whole calls'),
      willContinue: refusal('send whole calls'),
    }),
  },
} satisfies ObjectShape;

export const resultShape = {
  name: 'function response',
  places: /^contents\[\]\.parts\[\]\.functionResponse$/,
  kinds: {
    '': memberRules({
      id: mapped('`tool_call_id`, or that of the open call of the name'),
      name: mapped('`tool_call_id`'),
      response: mapped('`output` alone as a text, else JSON'),
      parts: refusal('chats have texts as results', [[]]),
      scheduling: hint(),
      willContinue: hint(),
    }),
  },
} satisfies ObjectShape;

/** A tool has one member of a kind each. */
export const toolShape = {
  name: 'tool',
  places: /^tools\[\]$/,
  kinds: {
    '': memberRules({
      functionDeclarations: mapped('`tools`'),
      googleSearch: optional,
      googleSearchRetrieval: optional,
      urlContext: optional,
      googleMaps: optional,
      retrieval: ranByGoogle,
      mcpServers: ranByGoogle,
      codeExecution: ranByGoogle,
      computerUse: ranByGoogle,
      enterpriseWebSearch: ranByGoogle,
      exaAiSearch: ranByGoogle,
      parallelAiSearch: ranByGoogle,
      fileSearch: ranByGoogle,
    }),
  },
} satisfies ObjectShape;

export const declarationShape = {
  name: 'function declaration',
  places: /^tools\[\]\.functionDeclarations\[\]$/,
  kinds: {
    '': memberRules({
      name: mapped('`function.name`'),
      description: mapped('`function.description`'),
      parameters: mapped('`function.parameters`, as a JSON schema'),
      parametersJsonSchema: mapped('`function.parameters`'),
      behavior: hint(),
      response: hint(),
      responseJsonSchema: hint(),
    }),
  },
} satisfies ObjectShape;

export const toolConfigShape = {
  name: 'tool config',
  places: /^toolConfig$/,
  kinds: {
    '': memberRules({
      functionCallingConfig: mapped('`tool_choice`'),
      retrievalConfig: hint(),
      includeServerSideToolInvocations: hint(),
    }),
  },
} satisfies ObjectShape;

export const callingShape = {
  name: 'function calling config',
  places: /^toolConfig\.functionCallingConfig$/,
  kinds: {
    '': memberRules({
      mode: mapped('`ANY` is `required`, `NONE` is `none`'),
      allowedFunctionNames: mapped('other functions are left out'),
      streamFunctionCallArguments: implied('streams have whole calls'),
    }),
  },
} satisfies ObjectShape;

export const geminiRequestRules: FormatRules = {
  from: "Gemini's form",
  to: 'a chat',
  shapes: [
    requestShape,
    settingsShape,
    thinkingShape,
    contentShape,
    partShape,
    dataShape,
    fileShape,
    codeShape,
    callShape,
    resultShape,
    toolShape,
    declarationShape,
    toolConfigShape,
    callingShape,
  ],
};

/** Names of the members with a treatment. */
export function membersOf(
  shape: { readonly kinds: { readonly '': MemberRules } },
  treatment: 'hint' | 'optional',
): readonly string[] {
  return [...shape.kinds['']]
    .filter(([, rule]) => rule.treatment === treatment)
    .map(([name]) => name);
}
