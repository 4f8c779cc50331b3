/** Tools, prompts and resources of the mock MCP server, with the methods that list and use them. */
import { setTimeout as delay } from 'node:timers/promises';

export type McpObject = Readonly<Record<string, unknown>>;

/** One request, as both eras of the protocol pass it on. */
export interface McpCall {
  readonly method: string;
  readonly params: McpObject;
  /** Aborted when the caller cancels the request or has gone. */
  readonly signal: AbortSignal;
  /** Reports the progress of a tool, to callers that have requested it. */
  readonly report: (progress: number, total: number) => void;
  /** Code of the era for a resource that does not exist. */
  readonly resourceNotFoundCode: number;
}

/** An error of the protocol, in contrast to one that a tool reports in its result. */
export class McpFault extends Error {
  readonly code: number;
  readonly data: McpObject | undefined;

  constructor(code: number, message: string, data?: McpObject) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const mcpServerInfo: McpObject = { name: 'gatewright-mock', version: '1.0.0' };
export const mcpCapabilities: McpObject = { tools: {}, prompts: {}, resources: {} };
export const mcpInstructions = 'A stand-in for an MCP server: it echoes, adds and waits.';

export const methodNotFoundCode = -32601;
export const invalidParamsCode = -32602;

const waitStepsMax = 10;
const waitSecondsMax = 60;

interface Tool {
  readonly name: string;
  readonly definition: McpObject;
  /** The result, or the fault of the arguments as text. */
  readonly run: (values: McpObject, call: McpCall) => McpObject | string | Promise<McpObject>;
}

const says = (text: string): McpObject => ({ content: [{ type: 'text', text }] });

const tools: readonly Tool[] = [
  {
    name: 'echo',
    definition: {
      title: 'Echo',
      description: 'Returns the text that it receives.',
      inputSchema: {
        type: 'object',
        properties: { text: { type: 'string', description: 'Text to return' } },
        required: ['text'],
      },
      annotations: { readOnlyHint: true },
    },
    run: ({ text }) => (typeof text === 'string' ? says(`echo: ${text}`) : 'text must be a string'),
  },
  {
    name: 'add',
    definition: {
      title: 'Add',
      description: 'Adds two numbers.',
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
      annotations: { readOnlyHint: true },
    },
    run: ({ a, b }) => {
      if (typeof a !== 'number' || typeof b !== 'number') return 'a and b must be numbers';
      const structuredContent = { sum: a + b };
      return { ...says(JSON.stringify(structuredContent)), structuredContent };
    },
  },
  {
    name: 'wait',
    definition: {
      title: 'Wait',
      description: `Waits for up to ${waitSecondsMax} seconds and reports its progress.`,
      inputSchema: {
        type: 'object',
        properties: { seconds: { type: 'number', minimum: 0, maximum: waitSecondsMax } },
        required: ['seconds'],
      },
      annotations: { readOnlyHint: true },
    },
    run: ({ seconds }, call) => {
      if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= waitSecondsMax)) {
        return `seconds must be a number from 0 to ${waitSecondsMax}`;
      }
      return wait(seconds, call);
    },
  },
];

async function wait(seconds: number, { report, signal }: McpCall): Promise<McpObject> {
  for (let step = 1; step <= waitStepsMax; step += 1) {
    await delay((seconds * 1000) / waitStepsMax, undefined, { signal });
    report(step, waitStepsMax);
  }
  return says(`waited for ${seconds} seconds`);
}

const prompt = {
  name: 'greeting',
  title: 'Greeting',
  description: 'Asks a model to greet someone.',
  arguments: [{ name: 'name', description: 'Who is greeted', required: true }],
};

const resource = {
  uri: 'mock://about',
  name: 'about',
  title: 'About this server',
  description: 'What this server is.',
  mimeType: 'text/plain',
};
const resourceText = 'This is the mock upstream of gatewright. It is not a real service.\n';

/** The result of a method that both eras have. @throws McpFault */
export async function answerMcpMethod(call: McpCall): Promise<McpObject> {
  switch (call.method) {
    case 'tools/list':
      return { tools: tools.map(({ name, definition }) => ({ name, ...definition })) };
    case 'tools/call':
      return await callTool(call);
    case 'prompts/list':
      return { prompts: [prompt] };
    case 'prompts/get':
      return getPrompt(call.params);
    case 'resources/list':
      return { resources: [resource] };
    case 'resources/templates/list':
      return { resourceTemplates: [] };
    case 'resources/read':
      return readResource(call);
    default:
      throw new McpFault(methodNotFoundCode, `Method not found: ${call.method}`);
  }
}

function readResource({ params: { uri }, resourceNotFoundCode }: McpCall): McpObject {
  if (uri !== resource.uri) {
    throw new McpFault(resourceNotFoundCode, 'Resource not found', { uri });
  }
  const { mimeType } = resource;
  return { contents: [{ uri, mimeType, text: resourceText }] };
}

async function callTool(call: McpCall): Promise<McpObject> {
  const { name, arguments: values = {} } = call.params;
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw new McpFault(invalidParamsCode, `Unknown tool: ${name}`);
  const result = await tool.run(Object(values) as McpObject, call);
  return typeof result === 'string' ? { ...says(result), isError: true } : result;
}

function getPrompt({ name, arguments: values = {} }: McpObject): McpObject {
  if (name !== prompt.name) throw new McpFault(invalidParamsCode, `Unknown prompt: ${name}`);
  const { name: greeted } = Object(values) as McpObject;
  if (typeof greeted !== 'string') {
    throw new McpFault(invalidParamsCode, 'The argument name must be a string');
  }
  const content = { type: 'text', text: `Say hello to ${greeted}.` };
  return { description: prompt.description, messages: [{ role: 'user', content }] };
}
