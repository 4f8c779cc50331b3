/** Defines the bodies of inference requests and responses as far as the gateway reads them; providers add more. */
import type { ListedEndpoint } from '../../model/endpoints/endpoint.ts';
import type { OpenApiJson } from './json-schema.ts';

const text = (description: string): OpenApiJson => ({ type: 'string', description });
const count = (description: string): OpenApiJson => ({ type: 'integer', minimum: 0, description });
const flag = (description: string): OpenApiJson => ({ type: 'boolean', description });
const list = (items: OpenApiJson, description: string): OpenApiJson => ({
  type: 'array',
  items,
  description,
});

function body(
  description: string,
  properties: Record<string, OpenApiJson>,
  required: string[] = [],
): OpenApiJson {
  return { type: 'object', description, required, properties, additionalProperties: true };
}

const model = text('Model by name; `@slug/model` names a provider of the workspace too.');
const stream = flag('Whether the response is a stream of events.');
const open = { description: 'Text, or a list of parts.' };
const message = body('One message.', { role: text('Who wrote the message.'), content: open }, [
  'role',
]);

const usage = body('Tokens that the request used.', {
  prompt_tokens: count('Input tokens.'),
  completion_tokens: count('Output tokens.'),
  total_tokens: count('All tokens.'),
});
const ownUsage = body('Tokens that the request used.', {
  input_tokens: count('Input tokens.'),
  output_tokens: count('Output tokens.'),
});
const reported = { id: text('Id of the response.'), model: text('Model that responded.') };

/** By name in the components of the document. */
export const inferenceSchemas: Readonly<Record<string, OpenApiJson>> = {
  InferenceRequest: body('A request in the format of the provider.', { model, stream }),
  InferenceResponse: body('A response in the format of the provider.', {}),
  ChatCompletionRequest: body(
    'A chat in the format of OpenAI.',
    {
      model,
      messages: list(message, 'Messages of the chat, the oldest first.'),
      max_tokens: count('Greatest number of output tokens.'),
      max_completion_tokens: count('Greatest number of output tokens.'),
      n: count('Number of answers.'),
      stream,
    },
    ['messages'],
  ),
  ChatCompletion: body('Answers to a chat in the format of OpenAI.', {
    ...reported,
    choices: list(
      body('One answer.', {
        index: count('Number of the answer.'),
        message,
        finish_reason: { type: ['string', 'null'], description: 'Why the answer ended.' },
      }),
      'Answers.',
    ),
    usage,
  }),
  CompletionRequest: body('A text to continue.', {
    model,
    prompt: open,
    max_tokens: count('Greatest number of output tokens.'),
    n: count('Number of answers.'),
    stream,
  }),
  Completion: body('Continuations of a text.', {
    ...reported,
    choices: list(
      body('One continuation.', { index: count('Number of it.'), text: text('The text.') }),
      'Continuations.',
    ),
    usage,
  }),
  EmbeddingRequest: body('Texts to embed.', { model, input: open }, ['input']),
  MessageRequest: body(
    'A chat in the format of Anthropic.',
    {
      model,
      max_tokens: count('Greatest number of output tokens.'),
      system: open,
      messages: list(message, 'Messages of the chat, the oldest first.'),
      stream,
    },
    ['messages'],
  ),
  Message: body('The answer to a chat in the format of Anthropic.', {
    ...reported,
    role: text('`assistant`.'),
    content: list(body('One part.', { type: text('Kind of the part.') }), 'Parts of the answer.'),
    usage: ownUsage,
  }),
  ResponseRequest: body('A request for a response of OpenAI.', {
    model,
    input: { description: 'Text, or a list of items.' },
    instructions: { type: ['string', 'null'], description: 'Text before the input.' },
    max_output_tokens: count('Greatest number of output tokens.'),
    previous_response_id: { type: ['string', 'null'], description: 'Response to continue.' },
    stream,
  }),
  Response: body('A response of OpenAI.', {
    ...reported,
    status: text('State of the response.'),
    output: list(body('One item.', { type: text('Kind of the item.') }), 'Items of the response.'),
    usage: ownUsage,
  }),
};

const requests: Readonly<Record<string, string>> = {
  chat_completions: 'ChatCompletionRequest',
  completions: 'CompletionRequest',
  embeddings: 'EmbeddingRequest',
  messages: 'MessageRequest',
  responses: 'ResponseRequest',
};
const responses: Readonly<Record<string, string>> = {
  chat_completions: 'ChatCompletion',
  completions: 'Completion',
  messages: 'Message',
  responses: 'Response',
};

function reference(name: string): OpenApiJson {
  return { $ref: `#/components/schemas/${name}` };
}

export function inferenceRequest({ requestTexts }: ListedEndpoint): OpenApiJson {
  return reference(requests[requestTexts ?? ''] ?? 'InferenceRequest');
}

export function inferenceResponse({ responseTexts }: ListedEndpoint): OpenApiJson {
  return reference(responses[responseTexts ?? ''] ?? 'InferenceResponse');
}
