/** Tools and a prompt of the MCP fixture servers that ask the client: elicitation, sampling and roots. */
import { type JsonSchema, noArguments } from './fixture-tools.ts';

/** A request to the client: sent as it is in the legacy era, part of `inputRequests` in the modern one. */
export type Question =
  | { readonly method: 'elicitation/create'; readonly params: ElicitationParams }
  | { readonly method: 'sampling/createMessage'; readonly params: SamplingParams }
  | { readonly method: 'roots/list'; readonly params: Readonly<Record<string, never>> };

interface ElicitationParams {
  readonly message: string;
  readonly requestedSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly required?: readonly string[];
  };
}

interface SamplingParams {
  readonly messages: readonly {
    readonly role: 'user';
    readonly content: { readonly type: 'text'; readonly text: string };
  }[];
  readonly maxTokens: number;
}

export type Questions = Readonly<Record<string, Question>>;
/** Results of the client, by the key of the question. */
export type Answers = Readonly<Record<string, unknown>>;

export interface Dialogue {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly rounds: (values: Readonly<Record<string, unknown>>) => readonly Questions[];
  /** Text of the result. */
  readonly finish: (answers: Answers) => string;
  /** Whether the modern server keeps the progress in `requestState`. */
  readonly usesState?: boolean;
  /** Whether questions for which the client has no capability are left out. */
  readonly skipsUndeclared?: boolean;
}

/** Capability of the client that a question needs. */
export const capabilityOf = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const satisfies Record<Question['method'], string>;

type Properties = ElicitationParams['requestedSchema']['properties'];

function elicit(message: string, properties: Properties, isRequired = true): Question {
  const required = isRequired ? { required: Object.keys(properties) } : {};
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties, ...required } },
  };
}

function sample(prompt: string, maxTokens: number): Question {
  const content = { type: 'text', text: prompt } as const;
  return {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content }], maxTokens },
  };
}

const roots: Question = { method: 'roots/list', params: {} };
const askName = (message: string): Question => elicit(message, { name: { type: 'string' } });

interface ElicitationAnswer {
  readonly action?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}

/** The value of one field of an accepted elicitation. */
function field(answer: unknown, name: string): string {
  return String((answer as ElicitationAnswer | undefined)?.content?.[name] ?? '(no answer)');
}

function sampledText(answer: unknown): string {
  const { content } = (answer ?? {}) as { readonly content?: { readonly text?: unknown } };
  return String(content?.text ?? '(no answer)');
}

function rootNames(answer: unknown): string {
  const { roots: list = [] } = (answer ?? {}) as { readonly roots?: { readonly uri: string }[] };
  return list.map(({ uri }) => uri).join(', ');
}

function completed(answer: unknown): string {
  const { action, content } = (answer ?? {}) as ElicitationAnswer;
  return `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;
}

const titled = (prefix: string, noun: string): readonly Record<string, string>[] =>
  ['First', 'Second', 'Third'].map((title, at) => ({
    const: `${prefix}${at + 1}`,
    title: `${title} ${noun}`,
  }));

const options = ['option1', 'option2', 'option3'];

const elicitations: readonly Dialogue[] = [
  {
    name: 'test_elicitation',
    description: 'Asks the user for a name and an address',
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string', description: 'Message for the user' } },
      required: ['message'],
    },
    rounds: ({ message }) => [
      {
        user: elicit(String(message), {
          username: { type: 'string', description: "User's response" },
          email: { type: 'string', description: "User's email address" },
        }),
      },
    ],
    finish: ({ user }) => `User response: ${JSON.stringify(user)}`,
  },
  {
    name: 'test_streaming_elicitation',
    description: 'Asks the user for a name during a call',
    inputSchema: noArguments,
    rounds: () => [{ user_name: askName('Who is calling?') }],
    finish: ({ user_name: answer }) => `Hello, ${field(answer, 'name')}!`,
  },
  {
    name: 'test_elicitation_sep1034_defaults',
    description: 'Asks the user with a default for each primitive type',
    inputSchema: noArguments,
    rounds: () => [
      {
        form: elicit(
          'Please check the values',
          {
            name: { type: 'string', default: 'John Doe' },
            age: { type: 'integer', default: 30 },
            score: { type: 'number', default: 95.5 },
            status: {
              type: 'string',
              enum: ['active', 'inactive', 'pending'],
              default: 'active',
            },
            verified: { type: 'boolean', default: true },
          },
          false,
        ),
      },
    ],
    finish: ({ form }) => completed(form),
  },
  {
    name: 'test_elicitation_sep1330_enums',
    description: 'Asks the user to choose, with each form of enumeration',
    inputSchema: noArguments,
    rounds: () => [
      {
        form: elicit(
          'Please choose',
          {
            untitledSingle: { type: 'string', enum: options },
            titledSingle: { type: 'string', oneOf: titled('value', 'Option') },
            legacyEnum: {
              type: 'string',
              enum: ['opt1', 'opt2', 'opt3'],
              enumNames: ['Option One', 'Option Two', 'Option Three'],
            },
            untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
            titledMulti: { type: 'array', items: { anyOf: titled('value', 'Choice') } },
          },
          false,
        ),
      },
    ],
    finish: ({ form }) => completed(form),
  },
];

const samplings: readonly Dialogue[] = [
  {
    name: 'test_sampling',
    description: 'Asks the model of the client',
    inputSchema: {
      type: 'object',
      properties: { prompt: { type: 'string', description: 'Prompt for the model' } },
      required: ['prompt'],
    },
    rounds: ({ prompt }) => [{ answer: sample(String(prompt), 100) }],
    finish: ({ answer }) => `LLM response: ${sampledText(answer)}`,
  },
  {
    name: 'test_missing_capability',
    description: 'Needs a client that can sample',
    inputSchema: noArguments,
    rounds: () => [{ answer: sample('Say something', 10) }],
    finish: ({ answer }) => `LLM response: ${sampledText(answer)}`,
  },
];

/** Named by the conformance suite after the result of the modern era. */
const inputRequired: readonly Dialogue[] = [
  {
    name: 'test_input_required_result_elicitation',
    description: 'Asks the user for a name',
    inputSchema: noArguments,
    rounds: () => [{ user_name: askName('What is your name?') }],
    finish: ({ user_name: answer }) => `Hello, ${field(answer, 'name')}!`,
  },
  {
    name: 'test_input_required_result_sampling',
    description: 'Asks the model of the client for a capital',
    inputSchema: noArguments,
    rounds: () => [{ capital_question: sample('What is the capital of France?', 100) }],
    finish: ({ capital_question: answer }) => sampledText(answer),
  },
  {
    name: 'test_input_required_result_list_roots',
    description: 'Asks the client for its roots',
    inputSchema: noArguments,
    rounds: () => [{ client_roots: roots }],
    finish: ({ client_roots: answer }) => `Roots: ${rootNames(answer)}`,
  },
  {
    name: 'test_input_required_result_request_state',
    description: 'Asks for a confirmation, with a state',
    inputSchema: noArguments,
    rounds: () => [{ confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) }],
    finish: () => 'state-ok',
    usesState: true,
  },
  {
    name: 'test_input_required_result_tampered_state',
    description: 'Asks for a confirmation, and refuses a state that was changed',
    inputSchema: noArguments,
    rounds: () => [{ confirm: elicit('Please confirm', { ok: { type: 'boolean' } }) }],
    finish: () => 'The state is authentic',
    usesState: true,
  },
  {
    name: 'test_input_required_result_multiple_inputs',
    description: 'Asks for a name, a greeting and the roots at once',
    inputSchema: noArguments,
    rounds: () => [
      {
        user_name: askName('What is your name?'),
        greeting: sample('Generate a greeting', 50),
        client_roots: roots,
      },
    ],
    finish: ({ user_name: name, greeting, client_roots: list }) =>
      `${sampledText(greeting)}, ${field(name, 'name')}! Roots: ${rootNames(list)}`,
    usesState: true,
  },
  {
    name: 'test_input_required_result_multi_round',
    description: 'Asks for a name, then for a colour',
    inputSchema: noArguments,
    rounds: (): readonly Questions[] => [
      { step1: askName('Step 1: What is your name?') },
      { step2: elicit('Step 2: What is your favorite color?', { color: { type: 'string' } }) },
    ],
    finish: ({ step1, step2 }) => `${field(step1, 'name')} likes ${field(step2, 'color')}`,
    usesState: true,
  },
  {
    name: 'test_input_required_result_capabilities',
    description: 'Asks in each way that the client supports',
    inputSchema: noArguments,
    rounds: () => [
      { user_name: askName('What is your name?'), greeting: sample('Generate a greeting', 50) },
    ],
    finish: (answers) => `Answered: ${Object.keys(answers).join(', ')}`,
    skipsUndeclared: true,
  },
];

/** Tools that ask the client. */
export const fixtureDialogues: readonly Dialogue[] = [
  ...elicitations,
  ...samplings,
  ...inputRequired,
];

/** The prompt that asks the client; its one message is the result of `finish`. */
export const askingPrompt: Dialogue = {
  name: 'test_input_required_result_prompt',
  description: 'A prompt that asks the user for a context',
  inputSchema: noArguments,
  rounds: () => [
    {
      user_context: elicit('What context should the prompt use?', {
        context: { type: 'string' },
      }),
    },
  ],
  finish: ({ user_context: answer }) => `Use this context: ${field(answer, 'context')}`,
};

/** The rounds of a call, without questions that the client cannot answer where the tool leaves them out. */
export function roundsOf(
  dialogue: Dialogue,
  values: Readonly<Record<string, unknown>>,
  declared: Readonly<Record<string, unknown>>,
): readonly Questions[] {
  const rounds = dialogue.rounds(values);
  if (dialogue.skipsUndeclared !== true) return rounds;
  return rounds.map((questions) =>
    Object.fromEntries(
      Object.entries(questions).filter(
        ([, { method }]) => declared[capabilityOf[method]] !== undefined,
      ),
    ),
  );
}
