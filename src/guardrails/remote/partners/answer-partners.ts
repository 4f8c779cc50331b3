/** Describes the partner services that judge a response together with its request. */
import { isObject } from '../../../model/json/read-object.ts';
import { CheckError, type CheckSubject } from '../../check.ts';
import {
  type Parameters,
  serviceEndpoint,
  textParameter,
  textsParameter,
} from '../check-parameters.ts';
import { requestText } from '../scan-scope.ts';
import { type PartnerFormat, type PartnerRequest, plainVerdict } from './partner-format.ts';

/** Evaluator and criteria of each check of Patronus. */
const patronusChecks: Readonly<Record<string, readonly [string, string?]>> = {
  toxicity: ['toxicity'],
  isconcise: ['judge', 'patronus:is-concise'],
  ishelpful: ['judge', 'patronus:is-helpful'],
  ispolite: ['judge', 'patronus:is-polite'],
  noapologies: ['judge', 'patronus:no-apologies'],
  nogenderbias: ['judge', 'patronus:no-gender-bias'],
  noracialbias: ['judge', 'patronus:no-racial-bias'],
  retrievalanswerrelevance: ['answer-relevance'],
};

function patronus(
  evaluatorOf: (parameters: Parameters) => readonly [string, string?],
  side?: CheckSubject['side'],
): PartnerFormat {
  return {
    name: 'Patronus',
    key: ['apiKey'],
    header: 'x-api-key',
    ...(side === undefined ? {} : { side }),
    url: ({ parameters }) =>
      `${serviceEndpoint(parameters, 'https://api.patronus.ai')}/v1/evaluate`,
    body: ({ text, isInput, parameters, subject }) => {
      const [evaluator, criteria] = evaluatorOf(parameters);
      return {
        evaluators: [{ evaluator, explain_strategy: 'always', criteria }],
        ...(isInput ? {} : { evaluated_model_input: requestText(subject) }),
        evaluated_model_output: text,
      };
    },
    read: (answer, _, texts) => {
      answer.itemsFor(texts, 'results');
      const { error_message: error } = answer.object('results.0');
      if (typeof error === 'string' && error !== '') {
        throw new CheckError('Patronus could not evaluate the text');
      }
      return plainVerdict(answer.flag('results.0.evaluation_result.pass'));
    },
  };
}

/** `evaluator:criteria`, or the criteria of a judge. */
function customEvaluator(parameters: Parameters): readonly [string, string] {
  const profile = textParameter(parameters, 'profile', textParameter(parameters, 'criteria'));
  if (profile === '') throw new CheckError('the check has no profile');
  const at = profile.indexOf(':');
  return at === -1 ? ['judge', profile] : [profile.slice(0, at), profile.slice(at + 1)];
}

/** Members of the request of each check of Qualifire, and the side that it judges. */
interface QualifireCheck {
  readonly side?: CheckSubject['side'];
  readonly asks: (parameters: Parameters, subject: CheckSubject) => object;
}

const modeOf = (parameters: Parameters): string => textParameter(parameters, 'mode', 'balanced');

const qualifireChecks: Readonly<Record<string, QualifireCheck>> = {
  contentmoderation: { asks: () => ({ content_moderation_check: true }) },
  pii: { asks: () => ({ pii_check: true }) },
  promptinjections: { side: 'input', asks: () => ({ prompt_injections: true }) },
  hallucinations: {
    side: 'output',
    asks: (parameters) => ({
      hallucinations_check: true,
      hallucinations_mode: modeOf(parameters),
    }),
  },
  grounding: {
    side: 'output',
    asks: (parameters) => ({ grounding_check: true, grounding_mode: modeOf(parameters) }),
  },
  policy: {
    asks: (parameters) => {
      const policies = textsParameter(parameters, 'policies');
      if (policies.length === 0) throw new CheckError('the check has no policies');
      return { assertions: policies, assertions_mode: modeOf(parameters) };
    },
  },
  toolusequality: {
    side: 'output',
    asks: (parameters, { params, answer }) => ({
      messages: exchangedMessages(params, answer?.json),
      available_tools: availableTools(params),
      tool_selection_quality_check: true,
      tsq_mode: modeOf(parameters),
    }),
  },
};

/** The last message of the request, and that of the response with its calls of tools. */
function exchangedMessages({ messages }: CheckSubject['params'], answer: unknown): unknown[] {
  const answered = isObject(answer) && Array.isArray(answer.choices) ? answer.choices : [];
  const [first] = answered as unknown[];
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  return [last, isObject(first) ? first.message : undefined].filter(isObject);
}

function availableTools({ tools }: CheckSubject['params']): unknown[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) =>
    isObject(tool) && isObject(tool.function) ? [tool.function] : [],
  );
}

function qualifire({ side, asks }: QualifireCheck): PartnerFormat {
  return {
    name: 'Qualifire',
    key: ['apiKey'],
    header: 'x-qualifire-api-key',
    ...(side === undefined ? {} : { side }),
    url: ({ parameters }) =>
      `${serviceEndpoint(parameters, 'https://proxy.qualifire.ai')}/api/evaluation/evaluate`,
    body: ({ text, isInput, parameters, subject }: PartnerRequest) => ({
      input: isInput ? text : requestText(subject),
      ...(isInput ? {} : { output: text }),
      ...asks(parameters, subject),
    }),
    read: (answer) => {
      const isSuccess = answer.word('status', ['success', 'failed']) === 'success';
      return plainVerdict(isSuccess);
    },
  };
}

/** By id in lower case. */
export const answerPartners: Readonly<Record<string, PartnerFormat>> = {
  ...Object.fromEntries(
    Object.entries(patronusChecks).map(([name, evaluator]) => [
      `patronus.${name}`,
      patronus(() => evaluator, 'output'),
    ]),
  ),
  'patronus.phi': patronus(() => ['phi']),
  'patronus.pii': patronus(() => ['pii']),
  'patronus.custom': patronus(customEvaluator, 'output'),
  ...Object.fromEntries(
    Object.entries(qualifireChecks).map(([name, check]) => [`qualifire.${name}`, qualifire(check)]),
  ),
};
