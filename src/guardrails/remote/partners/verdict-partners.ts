/** Describes the partner services that pass or reject a text. */
import { isObject } from '../../../model/json/read-object.ts';
import { CheckError } from '../../check.ts';
import { trueNames } from '../answer-members.ts';
import {
  numberParameter,
  type Parameters,
  serviceEndpoint,
  textParameter,
  textsParameter,
} from '../check-parameters.ts';
import { type PartnerFormat, type PartnerRequest, plainVerdict } from './partner-format.ts';

/** A host in the credentials, without its scheme. @throws CheckError for anything else */
export function hostIn(credentials: Parameters, name: string, usual = ''): string {
  const host = textParameter(credentials, name, usual).replace(/^https?:\/\//, '');
  if (/^[\w-]+(?:\.[\w-]+)*(?::\d+)?$/.test(host)) return host;
  throw new CheckError(`the check has no credentials.${name} with the name of a host`);
}

/** Members of the response of Pillar, one for each scanner. */
const pillarScanners = [
  'pii',
  'prompt_injection',
  'secrets',
  'toxic_language',
  'invisible_characters',
];

function pillar(target: 'prompt' | 'response'): PartnerFormat {
  return {
    name: 'Pillar',
    key: ['apiKey'],
    header: 'authorization',
    url: ({ parameters }) =>
      `${serviceEndpoint(parameters, 'https://api.pillarseclabs.com/api/v1')}/scan/${target}`,
    body: ({ text, parameters }) => {
      const scanners = textsParameter(parameters, 'scanners');
      if (scanners.length === 0) throw new CheckError('the check has no scanners');
      return { message: text, scanners: Object.fromEntries(scanners.map((one) => [one, true])) };
    },
    read: (answer, parameters) => {
      const enabled = textsParameter(parameters, 'scanners').filter((one) =>
        pillarScanners.includes(one),
      );
      const found = enabled.filter((one) => {
        const value = answer.at(one);
        // A scanner that is off returns null.
        if (value === undefined) answer.fail(one);
        return value !== null && value !== false;
      });
      return plainVerdict(found.length === 0, found);
    },
  };
}

function promptfoo(kind: 'guard' | 'pii' | 'harm'): PartnerFormat {
  return {
    name: 'Promptfoo',
    key: [],
    header: '',
    url: ({ parameters }) =>
      `${serviceEndpoint(parameters, 'https://api.promptfoo.dev/v1')}/${kind}`,
    body: ({ text }) => ({ input: text }),
    read: (answer, _, texts) => {
      answer.itemsFor(texts, 'results');
      if (kind === 'guard') {
        const isJailbreak = answer.flag('results.0.categories.jailbreak');
        return plainVerdict(!isJailbreak, isJailbreak ? ['jailbreak'] : []);
      }
      const categories = answer.at('results.0.categories');
      const names = isObject(categories) ? trueNames(categories) : [];
      return plainVerdict(!answer.flag('results.0.flagged'), names);
    },
  };
}

const sydelabs: PartnerFormat = {
  name: 'SydeGuard',
  key: ['apiKey'],
  header: 'x-api-key',
  url: ({ parameters }) =>
    `${serviceEndpoint(parameters, 'https://guard.sydelabs.ai')}/api/v1/guard/generate-score`,
  body: ({ text }) => ({ prompt: text }),
  read: (answer, parameters) => {
    const scores = new Map(
      answer.items('category_scores').map((one) => [one.text('category'), one.number('score')]),
    );
    const thresholds = [
      ['PROMPT_INJECT', 'prompt_injection_threshold'],
      ['TOXIC', 'toxicity_threshold'],
      ['EVASION', 'evasion_threshold'],
    ] as const;
    const found = thresholds.filter(([category, name]) => {
      const score = scores.get(category) ?? answer.fail('category_scores');
      return score > numberParameter(parameters, name, 0.5);
    });
    return plainVerdict(
      found.length === 0,
      found.map(([category]) => category),
    );
  },
};

const aporia: PartnerFormat = {
  name: 'Aporia',
  key: ['apiKey'],
  header: 'x-aporia-api-key',
  url: ({ parameters, credentials }) => {
    const base = serviceEndpoint(
      parameters,
      textParameter(credentials, 'apiEndpoint', 'https://gr-prd.aporia.com'),
    ).replace(/\/+$/, '');
    return `${base}/${encodeURIComponent(textParameter(parameters, 'projectID'))}/validate`;
  },
  body: ({ text, isInput, subject }) => ({
    explain: true,
    messages: isInput ? [{ role: 'user', content: text }] : (subject.params.messages ?? []),
    ...(isInput ? {} : { response: text }),
    validation_target: isInput ? 'prompt' : 'response',
  }),
  read: (answer) => {
    const action = answer.word('action', [
      'passthrough',
      'modify',
      'rephrase',
      'override',
      'block',
    ]);
    return plainVerdict(action === 'passthrough', action === 'passthrough' ? [] : [action]);
  },
};

const lasso: PartnerFormat = {
  name: 'Lasso',
  key: ['apiKey'],
  header: 'lasso-api-key',
  url: ({ parameters }) =>
    `${serviceEndpoint(parameters, 'https://server.lasso.security')}/gateway/v2/classify`,
  headers: ({ parameters }) => {
    const [conversation, user] = [
      textParameter(parameters, 'conversationId'),
      textParameter(parameters, 'userId'),
    ];
    return {
      ...(conversation === '' ? {} : { 'lasso-conversation-id': conversation }),
      ...(user === '' ? {} : { 'lasso-user-id': user }),
    };
  },
  body: ({ text, isInput }) => ({
    messages: [{ role: isInput ? 'user' : 'assistant', content: text }],
  }),
  read: (answer) => {
    const deputies = answer.at('deputies');
    const names = isObject(deputies) ? trueNames(deputies) : [];
    return plainVerdict(!answer.flag('violations_detected'), names);
  },
};

const pangeaTextGuard: PartnerFormat = {
  name: 'Pangea AI Guard',
  key: ['apiKey'],
  header: 'authorization',
  url: ({ parameters, credentials }) =>
    `${pangeaAddress(parameters, credentials, 'ai-guard')}/v1beta/text/guard`,
  body: ({ text, parameters: { recipe, debug, overrides } }) => ({
    text,
    recipe,
    debug,
    overrides,
  }),
  read: (answer) => {
    const counts = answer.object('result.findings');
    const names = ['prompt_injection_count', 'malicious_count', 'artifact_count'];
    const found = names.filter((name) => counts[name] !== undefined && counts[name] !== 0);
    return plainVerdict(
      found.length === 0,
      found.map((name) => name.replace('_count', '')),
    );
  },
};

export function pangeaAddress(
  parameters: Parameters,
  credentials: Parameters,
  service: string,
): string {
  const endpoint = serviceEndpoint(parameters, '');
  return endpoint === '' ? `https://${service}.${hostIn(credentials, 'domain')}` : endpoint;
}

const javelin: PartnerFormat = {
  name: 'Javelin',
  key: ['apiKey'],
  header: 'x-javelin-apikey',
  url: ({ parameters, credentials }) => {
    const endpoint = serviceEndpoint(parameters, '');
    const base =
      endpoint === ''
        ? `https://${hostIn(credentials, 'domain', 'api-dev.javelin.live')}`
        : endpoint;
    return `${base}/v1/guardrails/apply`;
  },
  headers: ({ credentials }) => {
    const application = textParameter(credentials, 'application');
    if (application === '') throw new CheckError('the check has no credentials.application');
    return { 'x-javelin-application': application };
  },
  body: ({ text }) => ({ input: { text }, config: {}, metadata: {} }),
  read: (answer) => {
    const kinds = answer
      .items('assessments')
      .flatMap((_, at) =>
        Object.keys(answer.object(`assessments.${at}`)).map((kind) => [at, kind] as const),
      );
    if (kinds.length === 0) answer.fail('assessments');
    const rejected = kinds
      .filter(([at, kind]) => answer.flag(`assessments.${at}.${kind}.request_reject`))
      .map(([, kind]) => kind);
    return plainVerdict(rejected.length === 0, rejected);
  },
};

const walledai: PartnerFormat = {
  name: 'Walled AI',
  key: ['apiKey'],
  header: 'x-api-key',
  url: ({ parameters }) =>
    `${serviceEndpoint(parameters, 'https://services.walled.ai')}/v1/walled-protect`,
  body: ({ text, parameters }) => ({
    text,
    generic_safety_check: parameters.generic_safety_check !== false,
    greetings_list: listOr(parameters, 'greetings_list', ['Casual & Friendly']),
    pii_list: listOr(parameters, 'pii_list', [
      "Person's Name",
      'Address',
      'Email Id',
      'Contact No',
      'Date Of Birth',
      'Unique Id',
      'Financial Data',
    ]),
    compliance_list: textsParameter(parameters, 'compliance_list'),
  }),
  read: (answer) => {
    const isSafe = answer.items('data.safety').map((one) => one.flag('isSafe'));
    if (isSafe.length === 0) answer.fail('data.safety');
    return plainVerdict(!isSafe.includes(false), isSafe.includes(false) ? ['unsafe'] : []);
  },
};

function listOr(parameters: Parameters, name: string, usual: readonly string[]) {
  return Array.isArray(parameters[name]) ? textsParameter(parameters, name) : usual;
}

const zscaler: PartnerFormat = {
  name: 'Zscaler AI Guard',
  key: ['apiKey', 'zscalerApiKey', 'AIGUARD_API_KEY'],
  header: 'authorization',
  url: ({ parameters }) => {
    const cloud = textParameter(parameters, 'cloud', 'us1');
    if (!/^[a-z0-9-]{1,20}$/.test(cloud)) throw new CheckError('cloud must be a name, such as us1');
    const base = serviceEndpoint(parameters, `https://api.${cloud}.zseclipse.net`);
    const call = policyOf(parameters) === undefined ? 'resolve-and-execute' : 'execute';
    return `${base}/v1/detection/${call}-policy`;
  },
  body: ({ text, isInput, parameters }) => ({
    policyId: policyOf(parameters),
    direction: isInput ? 'IN' : 'OUT',
    content: text,
  }),
  read: (answer) => {
    const action = answer.word('action', ['allow', 'detect', 'block']);
    const detectors = answer.at('detectorResponses');
    const names = isObject(detectors)
      ? Object.keys(detectors).filter(
          (name) => isObject(detectors[name]) && detectors[name].triggered === true,
        )
      : [];
    return plainVerdict(action !== 'block', names);
  },
};

function policyOf({ policyId }: Parameters): unknown {
  return typeof policyId === 'number' || typeof policyId === 'string' ? policyId : undefined;
}

const akto: PartnerFormat = {
  name: 'Akto',
  key: ['apiKey'],
  header: 'authorization',
  url: ({ parameters, credentials }) => {
    const path = '/api/validate/request';
    const usual = textParameter(credentials, 'baseUrl', 'https://1726615470-guardrails.akto.io');
    const base = serviceEndpoint(parameters, usual).replace(/\/+$/, '');
    return base.endsWith(path) ? base : base + path;
  },
  body: ({ text, subject }: PartnerRequest) => ({
    payload: JSON.stringify({ prompt: text, model: subject.model ?? 'unknown' }),
  }),
  read: (answer) => {
    const isAllowed = answer.flag('Allowed');
    const reason = answer.at('Reason');
    const about = typeof reason === 'string' && reason !== '' ? reason : undefined;
    return { ...plainVerdict(isAllowed), reason: about };
  },
};

/** By id in lower case. */
export const verdictPartners: Readonly<Record<string, PartnerFormat>> = {
  'akto.scan': akto,
  'aporia.validateproject': aporia,
  'javelin.guardrails': javelin,
  'lasso.classify': lasso,
  'pangea.textguard': pangeaTextGuard,
  'pillar.scanprompt': { ...pillar('prompt'), side: 'input' },
  'pillar.scanresponse': { ...pillar('response'), side: 'output' },
  'promptfoo.guard': promptfoo('guard'),
  'promptfoo.harm': promptfoo('harm'),
  'promptfoo.pii': promptfoo('pii'),
  'sydelabs.sydeguard': sydelabs,
  'walledai.walledprotect': walledai,
  'zscaler-ai-guard.zscalerprotect': zscaler,
};
