/** Tools of the MCP fixture servers that run without questions to the client. */
import { setTimeout as delay } from 'node:timers/promises';
import { embedded, type FixtureContent, image, sound, text } from './fixture-contents.ts';

export type JsonSchema = { readonly type: 'object' } & Readonly<Record<string, unknown>>;

export interface FixtureTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly run: (call: FixtureCall) => FixtureResult | Promise<FixtureResult>;
}

interface FixtureResult {
  readonly content: readonly FixtureContent[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** A call, and the ways to reach the client while it runs. */
export interface FixtureCall {
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Sends nothing when the client has not requested progress. */
  readonly progress: (progress: number, total: number) => Promise<void>;
  /** Sends nothing when the client has not enabled log messages. */
  readonly log: (message: string) => Promise<void>;
  /** Tells all clients that listen that a list has changed. */
  readonly listChanged: (list: FixtureList) => void;
  /** Tells all clients that are subscribed that a resource has changed. */
  readonly resourceUpdated: (uri: string) => void;
  /** Closes the response stream before the result, so that a client must resume it; legacy only. */
  readonly closeStream: () => void;
}

export type FixtureList = 'tools' | 'prompts' | 'resources';

export const noArguments: JsonSchema = { type: 'object', properties: {} };
/** The delay that the conformance suite prescribes between notifications. */
const stepMs = 50;

const says = (value: string): FixtureResult => ({ content: [text(value)] });

const contentTools: readonly FixtureTool[] = [
  {
    name: 'test_simple_text',
    description: 'Returns a text',
    inputSchema: noArguments,
    run: () => says('This is a simple text response for testing.'),
  },
  {
    name: 'test_image_content',
    description: 'Returns an image',
    inputSchema: noArguments,
    run: () => ({ content: [image] }),
  },
  {
    name: 'test_audio_content',
    description: 'Returns a sound',
    inputSchema: noArguments,
    run: () => ({ content: [sound] }),
  },
  {
    name: 'test_embedded_resource',
    description: 'Returns an embedded resource',
    inputSchema: noArguments,
    run: () => ({
      content: [
        embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
      ],
    }),
  },
  {
    name: 'test_multiple_content_types',
    description: 'Returns a text, an image and a resource',
    inputSchema: noArguments,
    run: () => ({
      content: [
        text('Multiple content types test:'),
        image,
        embedded(
          'test://mixed-content-resource',
          'application/json',
          JSON.stringify({ test: 'data', value: 123 }),
        ),
      ],
    }),
  },
  {
    name: 'test_structured_content',
    description: 'Returns the sum of two numbers as structured content',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    outputSchema: {
      type: 'object',
      properties: { sum: { type: 'number' } },
      required: ['sum'],
    },
    run: ({ arguments: { a, b } }) => {
      const structuredContent = { sum: Number(a) + Number(b) };
      return { ...says(JSON.stringify(structuredContent)), structuredContent };
    },
  },
  {
    name: 'test_error_handling',
    description: 'Returns an error of the tool',
    inputSchema: noArguments,
    run: () => ({
      ...says('This tool intentionally returns an error for testing'),
      isError: true,
    }),
  },
];

const schemaTools: readonly FixtureTool[] = [
  {
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    run: ({ arguments: values }) => says(JSON.stringify(values)),
  },
  {
    name: 'test_custom_headers',
    description: 'Returns the region, which the client of the modern era repeats in a header',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    },
    run: ({ arguments: { region } }) => says(`region: ${region}`),
  },
];

const notifyingTools: readonly FixtureTool[] = [
  {
    name: 'test_tool_with_logging',
    description: 'Sends three log messages',
    inputSchema: noArguments,
    run: async ({ log }) => {
      await log('Tool execution started');
      await delay(stepMs);
      await log('Tool processing data');
      await delay(stepMs);
      await log('Tool execution completed');
      return says('Three log messages were sent');
    },
  },
  {
    name: 'test_logging_tool',
    description: 'Sends a log message',
    inputSchema: noArguments,
    run: async ({ log }) => {
      await log('A message for clients that have enabled log messages');
      return says('A log message was sent');
    },
  },
  {
    name: 'test_tool_with_progress',
    description: 'Sends three progress notifications',
    inputSchema: noArguments,
    run: async ({ progress }) => {
      await progress(0, 100);
      await delay(stepMs);
      await progress(50, 100);
      await delay(stepMs);
      await progress(100, 100);
      return says('Three progress notifications were sent');
    },
  },
  {
    name: 'test_reconnection',
    description: 'Closes its response stream before the result, which a resumed stream delivers',
    inputSchema: noArguments,
    run: async ({ closeStream }) => {
      await delay(stepMs);
      closeStream();
      await delay(stepMs);
      return says('The stream was closed and resumed');
    },
  },
];

const triggers: readonly FixtureTool[] = [
  ...(['tool', 'prompt', 'resource'] as const).map(
    (kind): FixtureTool => ({
      name: `test_trigger_${kind}_change`,
      description: `Reports a change of the list of ${kind}s`,
      inputSchema: noArguments,
      run: ({ listChanged }) => {
        listChanged(`${kind}s`);
        return says(`The list of ${kind}s was reported as changed`);
      },
    }),
  ),
  {
    name: 'test_trigger_resource_update',
    description: 'Reports an update of the watched resource',
    inputSchema: noArguments,
    run: ({ resourceUpdated }) => {
      resourceUpdated('test://watched-resource');
      return says('The watched resource was reported as updated');
    },
  },
];

/** The first tool has no parameters, because the conformance suite calls the first tool of a list. */
export const fixtureTools: readonly FixtureTool[] = [
  ...contentTools,
  ...schemaTools,
  ...notifyingTools,
  ...triggers,
];
