/** Lists where gatewright responds differently from the open-source gateway of the same kind, with the reason. */

export interface Deviation {
  readonly why: string;
  /** The differing parts; in each of the cases all of them differ. */
  readonly parts: readonly string[];
  /** Names of cases, with a trailing `*` for a prefix; every case by default. */
  readonly cases?: readonly string[];
  /** Computes the other gateway's value from ours; any other value by default. */
  readonly theirs?: (ours: unknown) => unknown;
}

/** One gateway calls a provider, the other refuses. */
const refusedByOne = [
  'calls',
  'bodies sent',
  'headers sent',
  'status',
  'body got',
  'retry count',
  'option index',
  'provider',
];
/** One gateway continues with another call. */
const oneCallMore = ['calls', 'bodies sent', 'headers sent', 'status', 'body got'];
const otherTarget = ['calls', 'headers sent', 'option index'];
const [sent, bodySent, got] = [['headers sent'], ['bodies sent'], ['body got']];

type Json = Readonly<Record<string, unknown>>;

const ofAnyCase: Deviation[] = [
  {
    why: 'An error of a provider comes back as the provider said it, so that its own clients know it',
    parts: got,
    theirs: (ours) => rewrittenError(ours, 'openai'),
  },
];

const ofConditions: Deviation[] = [
  {
    why: 'Texts that are no numbers are compared by their letters, dates above all: theirs takes the number that a text begins with',
    parts: otherTarget,
    cases: ['conditional: $lt "2026-06-01" of "2026-01-01"', 'conditional: $gt 10 of "11 apples"'],
  },
  {
    why: 'What is not there matches no pattern: theirs looks for it in the word "undefined"',
    parts: otherTarget,
    cases: ['conditional: $regex "undefined" of nothing'],
  },
  {
    why: 'All parts of a query hold: theirs looks at none that stand behind $and, $or or $regex',
    parts: otherTarget,
    cases: [
      'conditional: an operator behind $regex',
      'conditional: a key behind $and that does not hold',
      'conditional: a key behind $or that does not hold',
      'conditional: $or behind $and',
    ],
  },
  {
    why: 'Metadata that cannot be read is refused: theirs goes on as if there were none',
    parts: refusedByOne,
    cases: ['conditional: metadata that is no JSON'],
  },
  {
    why: 'Values of metadata are texts, numbers and words, as the log and the policies take them',
    parts: refusedByOne,
    cases: ['conditional: a value that is null'],
  },
  {
    why: 'A query that names no value of a request is a fault of the config: theirs lets it match nothing',
    parts: refusedByOne,
    cases: ['conditional: a key of one part', 'conditional: a key of nothing that there is'],
  },
  {
    why: 'A pattern that cannot be run is a fault of the config: theirs lets it match nothing',
    parts: refusedByOne,
    cases: ['conditional: a pattern that is none'],
  },
];

const ofTries: Deviation[] = [
  {
    why: '529 says that a provider is overloaded, as 503 does, and is tried again',
    parts: [...oneCallMore, 'retry count'],
    cases: ['retry: once after 529, or not'],
  },
  {
    why: 'A provider that asks for more time than there is gets no other try: theirs asks again at once',
    parts: [...oneCallMore, 'headers got'],
    cases: [
      'wait: told as {"retry-after-ms":"99999"}',
      'wait: told as {"retry-after":"3600"}',
      'wait: told as {"retry-after":"1000000000"}',
    ],
  },
  {
    why: 'Retry-After is heeded after every answer that is tried again: theirs does with 429 only',
    parts: [...oneCallMore, 'headers got', 'retry count'],
    cases: ['wait: told with 503'],
  },
  {
    why: 'Bounds of a config are told when they are broken, not met in silence',
    parts: refusedByOne,
    cases: ['retry: too many', 'retry: fewer than none', 'refusal: a timeout of nothing'],
  },
  {
    why: 'A provider that cannot be reached is 502, and what the network says of it is not told on',
    parts: ['status', ...got],
    cases: ['answer: cut off before it begins'],
  },
  {
    why: 'Redirects are not followed: they could lead to an address that nobody has judged, with the credential',
    parts: ['calls', ...bodySent, ...sent, 'status', ...got, 'headers got'],
    cases: ['answer: that leads elsewhere'],
  },
];

const ofRequests: Deviation[] = [
  {
    why: 'Parameters go out as they came, whether or not this version knows them, and keep the values that were asked for',
    parts: bodySent,
    cases: [
      'params: one that the format does not know',
      'params: one beyond its bounds',
      'params: override with what a provider does not know',
    ],
  },
  {
    why: 'No model is made up for a request that names none',
    parts: bodySent,
    cases: ['params: no model'],
  },
  {
    why: 'Numbers keep all of their digits',
    parts: bodySent,
    cases: ['params: a number that is not a double'],
  },
  {
    why: 'default_params and drop_params, which theirs does not have',
    parts: bodySent,
    cases: [
      'params: default of what is not sent',
      'params: drop one',
      'params: drop one of an object',
    ],
  },
  {
    why: 'A request without a body is given no type of one',
    parts: sent,
    cases: ['endpoint: a file to delete, *'],
  },
  {
    why: 'The caller says which version and betas of Anthropic it speaks; none of 2023 is added',
    parts: sent,
    cases: ['messages: *', 'stream: of messages'],
  },
  {
    why: 'A beta of OpenAI that the caller asks for is passed on beside a config too',
    parts: sent,
    cases: ['headers: beta of the caller'],
  },
  {
    why: 'Cookies and addresses of the caller are not for providers, whatever path is called',
    parts: sent,
    cases: ['headers: what is not named stays behind, at a path that is only forwarded'],
  },
  {
    why: 'The credential of a config counts before one that is forwarded: who wrote the config says who pays',
    parts: sent,
    cases: ['headers: a credential forwarded in place of that of the config'],
  },
  {
    why: 'No request sends the credential of a config to a host of its own choice',
    parts: ['calls'],
    cases: ['headers: custom host of config and request'],
  },
  {
    why: 'A slash at the end of an address makes no second one in the path',
    parts: ['calls'],
    cases: ['headers: custom host with a slash at its end'],
  },
  {
    why: 'Targets have provider and credential from the level above, as they have everything else',
    parts: refusedByOne,
    cases: ['inherited: provider and credential'],
  },
];

const owned =
  'What callers keep with an account of the gateway is reached by those who have made it: theirs passes every id on';
const refusedAlike = refusedByOne.filter((part) => part !== 'status');
const withoutHeaders = (part: string): boolean => part !== 'headers sent';

const ofOwnedObjects: Deviation[] = [
  {
    why: owned,
    parts: refusedByOne,
    cases: ['endpoint: a response, by config', 'endpoint: batches, by config'],
  },
  {
    why: owned,
    parts: refusedAlike,
    cases: ['endpoint: a response, failing', 'endpoint: batches, failing'],
  },
  {
    why: owned,
    parts: refusedByOne.filter(withoutHeaders),
    cases: ['endpoint: a file to delete, by config'],
  },
  {
    why: owned,
    parts: refusedAlike.filter(withoutHeaders),
    cases: ['endpoint: a file to delete, failing'],
  },
  {
    why: 'A list holds what the gateway has noted for the caller, which is nothing here',
    parts: ['calls', ...bodySent, ...sent, ...got],
    cases: ['endpoint: files, by config'],
  },
  {
    why: 'A list holds what the gateway has noted for the caller, and nobody is asked for nothing',
    parts: oneCallMore,
    cases: ['endpoint: files, failing'],
  },
];

const ofAnswers: Deviation[] = [
  {
    why: 'Errors of Anthropic are in its own form on its own endpoints',
    parts: got,
    cases: ['messages: failing'],
    theirs: (ours) => rewrittenError(ours, 'anthropic'),
  },
  {
    why: 'Answers come back as they are, without a name of the provider in them',
    parts: got,
    cases: ['endpoint: responses, by *', 'endpoint: a response, by headers'],
    theirs: (ours) => ({ ...(ours as Json), provider: 'openai' }),
  },
  {
    why: 'A list stays a list',
    parts: got,
    cases: ['answer: that is a list'],
  },
  {
    why: 'Text and HTML come back as such, not in a member of JSON',
    parts: [...got, 'headers got'],
    cases: ['answer: in text', 'answer: in HTML, with 502', 'answer: of nothing, with 500'],
  },
  {
    why: 'An answer without a body is given no type of one',
    parts: ['headers got'],
    cases: ['fallback: not after 204', 'answer: with 204'],
  },
  {
    why: 'What is no JSON comes back as it is: theirs answers with an error that says nothing',
    parts: ['status', ...got, 'retry count', 'option index', 'provider'],
    cases: ['answer: that is no JSON', 'answer: of nothing'],
  },
  {
    why: 'A cookie of a provider is one of the gateway, and none of the caller',
    parts: ['headers got'],
    cases: ['answer: with a cookie'],
  },
  {
    why: 'Streams are passed on byte for byte: theirs leaves out empty events',
    parts: got,
    cases: ['stream: of more line feeds than needed'],
  },
];

const ofRefusals: Deviation[] = [
  {
    why: 'Refusals have the form of the errors of OpenAI, with a code and the place of the fault',
    parts: got,
    cases: [
      'single: an unknown mode',
      'conditional: no default, and none that holds',
      'conditional: a target that there is not',
      'conditional: an operator that there is not',
      'timeout: of *',
      'timeout: does not lead on where other codes are listed',
      'timeout: is tried again where 408 is listed',
      'timeout: is not tried again where nothing is listed',
      'refusal: a config that is no JSON',
      'refusal: no config and no provider',
      'refusal: a config of nothing',
      'refusal: a body in a form',
      'refusal: custom host *',
      'refusal: a custom host with a password',
    ],
  },
  {
    why: 'A config without a target and a body that is no JSON are faults of the caller, not of the gateway',
    parts: ['status', ...got],
    cases: ['single: no targets', 'refusal: a body that is no JSON'],
  },
  {
    why: 'Targets without a strategy are as good as single',
    parts: refusedByOne,
    cases: ['single: targets without a strategy'],
  },
  {
    why: 'Any name of a provider may be called at a custom host, in the format of OpenAI',
    parts: refusedByOne,
    cases: ['refusal: a provider that nobody knows'],
  },
  {
    why: 'What is wrong with an empty body, the provider says',
    parts: refusedByOne,
    cases: ['refusal: an empty body'],
  },
  {
    why: 'A list is no request: theirs sends another one in its place',
    parts: refusedByOne,
    cases: ['refusal: a body that is a list'],
  },
  {
    why: 'Weights below nought have no meaning',
    parts: refusedByOne,
    cases: ['refusal: a weight below nought'],
  },
];

export const deviations: readonly Deviation[] = [
  ...ofAnyCase,
  ...ofConditions,
  ...ofTries,
  ...ofRequests,
  ...ofOwnedObjects,
  ...ofAnswers,
  ...ofRefusals,
];

function rewrittenError(ours: unknown, provider: string): unknown {
  const { error } = ours as { error?: Json };
  if (error === undefined) return ours;
  const { message, type = null, param = null, code = null } = error;
  return { error: { message: `${provider} error: ${message}`, type, param, code }, provider };
}
