/** Describes the partner services that can change the texts which they judge. */
import { isObject } from '../../../model/json/read-object.ts';
import { CheckError } from '../../check.ts';
import type { AnswerMembers } from '../answer-members.ts';
import {
  numberParameter,
  type Parameters,
  requireCredential,
  serviceEndpoint,
  textParameter,
  textsParameter,
} from '../check-parameters.ts';
import type { TextChange } from '../remote-service.ts';
import { type PartnerFormat, plainVerdict } from './partner-format.ts';
import { hostIn, pangeaAddress } from './verdict-partners.ts';

const redacts = ({ redact }: Parameters): boolean => redact === true;

function changeTo(changed: string, text: string | undefined): TextChange {
  return changed === text ? null : { text: changed };
}

/** @throws CheckError where a service says that it has changed texts and returns them as they were */
function requireChange(
  answer: AnswerMembers,
  path: string,
  changes: readonly TextChange[],
): readonly TextChange[] {
  return changes.every((change) => change === null) ? answer.fail(path) : changes;
}

const pangeaPii: PartnerFormat = {
  name: 'Pangea Redact',
  key: ['apiKey'],
  header: 'authorization',
  url: ({ parameters, credentials }) =>
    `${pangeaAddress(parameters, credentials, 'redact')}/v1/redact_structured`,
  body: ({ texts }) => ({ data: texts }),
  textsMax: 200,
  changesTexts: redacts,
  read: (answer, parameters, texts) => {
    const isFound = answer.number('result.count') !== 0;
    const findings = isFound ? ['pii'] : [];
    if (!isFound || !redacts(parameters)) return plainVerdict(!isFound, findings);
    const redacted = answer.list('result.redacted_data');
    if (redacted.length !== texts.length) answer.fail('result.redacted_data');
    const changes = redacted.map((_, at) =>
      changeTo(answer.text(`result.redacted_data.${at}`), texts[at]),
    );
    return {
      passes: true,
      findings,
      changes: requireChange(answer, 'result.redacted_data', changes),
    };
  },
};

function promptSecurity(target: 'prompt' | 'response'): PartnerFormat {
  return {
    name: 'Prompt Security',
    key: ['apiKey'],
    header: 'app-id',
    side: target === 'prompt' ? 'input' : 'output',
    url: ({ parameters, credentials }) => {
      const endpoint = serviceEndpoint(parameters, '');
      const base = endpoint === '' ? `https://${hostIn(credentials, 'apiDomain')}` : endpoint;
      return `${base}/api/protect`;
    },
    body: ({ text, parameters: { policy, user, userGroups, monitorOnly } }) => ({
      [target]: text,
      policy,
      user,
      user_groups: userGroups,
      monitor_only: monitorOnly,
    }),
    changesTexts: redacts,
    read: (answer, parameters, [text]) => {
      const action = answer.word(`result.${target}.action`, ['log', 'pass', 'modify', 'block']);
      const violations = answer.at(`result.${target}.violations`);
      const findings = Array.isArray(violations)
        ? violations.filter((one) => typeof one === 'string')
        : [];
      const path = `result.${target}.modified_text`;
      if (action === 'block' || !redacts(parameters)) {
        return { passes: action !== 'block', findings };
      }
      if (action !== 'modify' && typeof answer.at(path) !== 'string') {
        return { passes: true, findings };
      }
      const changes = [changeTo(answer.text(path), text)];
      const isModified = action === 'modify';
      return {
        passes: true,
        findings,
        changes: isModified ? requireChange(answer, path, changes) : changes,
      };
    },
  };
}

const f5: PartnerFormat = {
  name: 'F5 AI Guardrails',
  key: ['apiKey'],
  header: 'authorization',
  url: ({ parameters, credentials }) => {
    const usual = textParameter(credentials, 'calypsoUrl', 'https://us1.calypsoai.app');
    return `${serviceEndpoint(parameters, usual).replace(/\/+$/, '')}/backend/v1/scans`;
  },
  body: ({ text, parameters }) => ({
    input: text,
    project: textParameter(parameters, 'projectId'),
  }),
  changesTexts: redacts,
  read: (answer, parameters, [text]) => {
    const words = ['cleared', 'flagged', 'redacted', 'blocked'];
    const outcome = answer.word('result.outcome', words);
    if (outcome === 'cleared') return plainVerdict(true);
    if (outcome !== 'redacted' || !redacts(parameters)) return plainVerdict(false, [outcome]);
    return {
      passes: true,
      findings: [outcome],
      changes: requireChange(answer, 'redactedInput', [
        changeTo(answer.text('redactedInput'), text),
      ]),
    };
  },
};

const crowdstrike: PartnerFormat = {
  name: 'CrowdStrike AIDR',
  key: ['apiKey'],
  header: 'authorization',
  url: ({ parameters, credentials }) => {
    const base = serviceEndpoint(parameters, textParameter(credentials, 'baseUrl')).replace(
      /\/+$/,
      '',
    );
    if (base === '') throw new CheckError('the check has no credentials.baseUrl');
    return `${base}/v1/guard_chat_completions`;
  },
  body: ({ texts, isInput, subject }) => ({
    guard_input: isInput
      ? { messages: texts.map((content) => ({ role: 'user', content })) }
      : {
          choices: texts.map((content, index) => ({
            index,
            message: { role: 'assistant', content },
          })),
        },
    event_type: isInput ? 'input' : 'output',
    app_id: 'gatewright',
    llm_provider: subject.provider,
    model: subject.model ?? undefined,
    extra_info: {},
  }),
  textsMax: 100,
  changesTexts: () => true,
  read: (answer, _, texts) => {
    answer.word('status', ['success']);
    const policy = answer.at('result.policy');
    const findings = typeof policy === 'string' ? [policy] : [];
    if (answer.flag('result.blocked')) return plainVerdict(false, findings);
    if (!answer.flag('result.transformed')) return plainVerdict(true);
    const list = Object.hasOwn(answer.object('result.guard_output'), 'messages')
      ? 'messages'
      : 'choices';
    const content = list === 'messages' ? 'content' : 'message.content';
    const path = `result.guard_output.${list}`;
    const changes = answer
      .itemsFor(texts, path)
      .map((one, at) => changeTo(one.text(content), texts[at]));
    return { passes: true, findings, changes: requireChange(answer, path, changes) };
  },
};

/** The address is in the key, a token whose signature only the service verifies. */
function acuvityAddress(key: string): string {
  const [, payload = ''] = key.split('.');
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const address = isObject(claims) && isObject(claims.opaque) ? claims.opaque['apex-url'] : null;
    if (typeof address === 'string') return address.replace(/\/+$/, '');
  } catch {
    // Not a token.
  }
  throw new CheckError('credentials.apiKey of the check is no token of Acuvity');
}

/** Members of an extraction, the names in it, and the parameters that ask for them. */
const acuvityGuards: readonly (readonly [string, string, string])[] = [
  ['exploits', 'prompt_injection', 'prompt_injection'],
  ['exploits', 'jailbreak', 'jail_break'],
  ['exploits', 'malicious_url', 'malicious_url'],
  ['malcontents', 'toxic', 'toxic'],
  ['malcontents', 'biased', 'biased'],
  ['malcontents', 'harmful', 'harmful'],
];

const acuvity: PartnerFormat = {
  name: 'Acuvity',
  key: ['apiKey'],
  header: 'authorization',
  url: ({ parameters }) => {
    const endpoint = serviceEndpoint(parameters, '');
    const key = requireCredential(parameters, 'apiKey');
    return `${endpoint === '' ? acuvityAddress(key) : endpoint}/_acuvity/scan`;
  },
  body: ({ texts, isInput, parameters }) => ({
    anonymization: 'FixedSize',
    messages: texts,
    redactions: acuvityRedactions(parameters),
    type: isInput ? 'Input' : 'Output',
  }),
  textsMax: 100,
  changesTexts: (parameters) => acuvityRedactions(parameters).length > 0,
  read: (answer, parameters, texts) => {
    const extractions = answer.itemsFor(texts, 'extractions');
    const denied = extractions.flatMap((one) => acuvityFindings(one, parameters));
    const data = extractions.flatMap((one) => acuvityData(one, parameters));
    const isRedacting = acuvityRedactions(parameters).length > 0;
    const findings = [...denied, ...data];
    if (!isRedacting || data.length === 0) return plainVerdict(findings.length === 0, findings);
    const changes = extractions.map((one, at) => changeTo(one.text('data'), texts[at]));
    requireChange(answer, 'extractions', changes);
    return { passes: denied.length === 0, findings, changes };
  },
};

function acuvityRedactions(parameters: Parameters): string[] {
  return ['pii', 'secrets'].flatMap((kind) =>
    parameters[kind] === true && parameters[`${kind}_redact`] === true
      ? textsParameter(parameters, `${kind}_categories`)
      : [],
  );
}

function acuvityFindings(extraction: AnswerMembers, parameters: Parameters): string[] {
  const found = acuvityGuards
    .filter(([member, name, parameter]) => {
      if (parameters[parameter] !== true) return false;
      const score = extraction.at(`${member}.${name}`);
      return (
        typeof score === 'number' &&
        score >= numberParameter(parameters, `${parameter}_threshold`, 0)
      );
    })
    .map(([, name]) => name);
  const language = textParameter(
    parameters,
    'language_values',
    textParameter(parameters, 'languagevals'),
  );
  const isLanguage = parameters.language === true && language !== '';
  const share = extraction.at(`languages.${language}`);
  return isLanguage && typeof share === 'number' && share >= 0.5 ? [...found, 'language'] : found;
}

/** Categories of personal data and secrets that were asked for and found. */
function acuvityData(extraction: AnswerMembers, parameters: Parameters): string[] {
  const names = new Set<string>();
  for (const list of ['PIIs', 'piIs', 'secrets']) {
    const found = extraction.at(list);
    if (isObject(found)) for (const name of Object.keys(found)) names.add(name.toLowerCase());
  }
  if (extraction.at('detections') !== undefined) {
    for (const one of extraction.items('detections')) names.add(one.text('name').toLowerCase());
  }
  return ['pii', 'secrets'].flatMap((kind) =>
    parameters[kind] === true
      ? textsParameter(parameters, `${kind}_categories`).filter((one) =>
          names.has(one.toLowerCase()),
        )
      : [],
  );
}

/** By id in lower case. */
export const changingPartners: Readonly<Record<string, PartnerFormat>> = {
  'acuvity.acuvity': acuvity,
  'acuvity.scan': acuvity,
  'crowdstrike-aidr.guardchatcompletions': crowdstrike,
  'f5-guardrails.scan': f5,
  'pangea.pii': pangeaPii,
  'promptsecurity.protectprompt': promptSecurity('prompt'),
  'promptsecurity.protectresponse': promptSecurity('response'),
};
