/** Has a guardrail of Amazon Bedrock judge texts, and replaces the sensitive data that it finds. */
import { awsDomain } from '../../aws/aws-credentials.ts';
import { isObject } from '../../model/json/read-object.ts';
import { CheckError, type CheckSubject } from '../check.ts';
import { AnswerMembers } from './answer-members.ts';
import {
  checkCredentials,
  type Parameters,
  serviceEndpoint,
  textParameter,
} from './check-parameters.ts';
import type {
  RemoteService,
  RequestSigner,
  ServiceRequest,
  ServiceSpan,
  ServiceVerdict,
} from './remote-service.ts';
import { namedAccount } from './required-account.ts';
import type { ServiceAccounts } from './service-accounts.ts';

const name = 'Amazon Bedrock';
/** Usual quota of one request: 25 text units of 1,000 characters. */
const charactersMax = 25_000;
const textsMax = 100;
/** Lists of findings in an assessment, and the member of an item that names it. */
const findingLists: readonly (readonly [string, string])[] = [
  ['topicPolicy.topics', 'name'],
  ['contentPolicy.filters', 'type'],
  ['wordPolicy.customWords', ''],
  ['wordPolicy.managedWordLists', 'type'],
  ['contextualGroundingPolicy.filters', 'type'],
];
const sensitiveLists: readonly (readonly [string, string])[] = [
  ['sensitiveInformationPolicy.piiEntities', 'type'],
  ['sensitiveInformationPolicy.regexes', 'name'],
];

export function bedrockGuardrail(
  parameters: Parameters,
  accounts: ServiceAccounts | null,
): RemoteService {
  const isRedacting = parameters.redact === true;
  return {
    name,
    limit: { unit: 'characters', max: charactersMax },
    textsMax,
    changesTexts: isRedacting,
    request: (texts, subject) => requestOf(parameters, accounts, texts, subject),
    read: (answer, texts) => verdictIn(answer, texts, isRedacting),
  };
}

async function requestOf(
  parameters: Parameters,
  accounts: ServiceAccounts | null,
  texts: readonly string[],
  subject: CheckSubject,
): Promise<ServiceRequest> {
  const { region, ...login } = await loginOf(parameters, accounts, subject);
  const id = encodeURIComponent(textParameter(parameters, 'guardrailId'));
  const version = encodeURIComponent(textParameter(parameters, 'guardrailVersion'));
  const usual = login.customHost ?? `https://bedrock-runtime.${region}.${awsDomain(region)}`;
  return {
    url: `${serviceEndpoint(parameters, usual)}/guardrail/${id}/version/${version}/apply`,
    headers: login.headers,
    signer: login.signer ?? undefined,
    body: {
      source: subject.side === 'input' ? 'INPUT' : 'OUTPUT',
      content: texts.map((text) => ({ text: { text } })),
    },
  };
}

interface BedrockLogin {
  readonly region: string;
  readonly customHost: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly signer: RequestSigner | null;
}

const regionForm = /^[a-z]{2}(?:-[a-z]+)+-\d$/;

async function loginOf(
  parameters: Parameters,
  accounts: ServiceAccounts | null,
  subject: CheckSubject,
): Promise<BedrockLogin> {
  const account = await namedAccount(parameters, accounts, subject, ['bedrock']);
  if (account !== null) {
    const { customHost, fields, headers, key } = account;
    const region = requireRegion(fields.aws_region ?? '');
    const signer = account.signerIn(region);
    const own = signer === null ? bearer(key ?? '') : {};
    return { region, customHost, headers: { ...headers, ...own }, signer };
  }
  const credentials = checkCredentials(parameters);
  const region = requireRegion(oneOf(credentials, 'awsRegion', 'region'));
  const own = { region, customHost: null };
  const apiKey = textParameter(credentials, 'apiKey');
  if (apiKey !== '') return { ...own, headers: bearer(apiKey), signer: null };
  const login = {
    authType: textParameter(credentials, 'awsRoleArn') === '' ? 'accessKey' : 'assumedRole',
    accessKeyId: oneOf(credentials, 'awsAccessKeyId', 'accessKeyId'),
    secretAccessKey: oneOf(credentials, 'awsSecretAccessKey', 'accessKeySecret'),
    sessionToken: textParameter(credentials, 'awsSessionToken'),
    roleArn: textParameter(credentials, 'awsRoleArn'),
    externalId: textParameter(credentials, 'awsExternalId'),
  };
  if (login.accessKeyId === '' || login.secretAccessKey === '') {
    throw new CheckError('the check has no credentials.awsAccessKeyId and awsSecretAccessKey');
  }
  if (accounts === null) throw new CheckError('this check cannot sign requests here');
  return { ...own, headers: {}, signer: accounts.signerOf(login, region) };
}

function oneOf(credentials: Parameters, first: string, second: string): string {
  return textParameter(credentials, first, textParameter(credentials, second));
}

/** The region is a part of the host. */
function requireRegion(region: string): string {
  if (regionForm.test(region)) return region;
  throw new CheckError('the check has no credentials.awsRegion, such as eu-central-1');
}

function bearer(key: string): Readonly<Record<string, string>> {
  return key === '' ? {} : { authorization: `Bearer ${key}` };
}

interface Finding {
  readonly name: string;
  readonly action: string;
  /** The found text; empty if the list has none. */
  readonly match: string;
}

function verdictIn(
  answer: Parameters,
  texts: readonly string[],
  isRedacting: boolean,
): ServiceVerdict {
  const members = new AnswerMembers(name, answer);
  const action = members.word('action', ['none', 'guardrail_intervened']);
  requireCoverage(members);
  const isNothing = action === 'none' && members.at('assessments') === undefined;
  const assessments = isNothing ? [] : members.items('assessments');
  const others = assessments.flatMap((one) => findingsIn(one, findingLists)).filter(hasActed);
  const sensitive = assessments.flatMap((one) => findingsIn(one, sensitiveLists)).filter(hasActed);
  const findings = [...others, ...sensitive].map((finding) => finding.name);
  if (action === 'none') {
    return findings.length === 0 ? { passes: true, findings } : members.fail('action');
  }
  if (!isRedacting || others.length > 0 || sensitive.length === 0) {
    return { passes: false, findings };
  }
  const spans = texts.map((text) => sensitive.flatMap((finding) => spansOf(text, finding)));
  const isEachFound = sensitive.every(
    ({ match }) => match !== '' && texts.some((text) => text.includes(match)),
  );
  return {
    passes: isEachFound,
    findings,
    changes: spans.map((one) => (one.length === 0 ? null : { spans: one })),
  };
}

/** @throws CheckError where the service says that it has judged a part of the texts only */
function requireCoverage(members: AnswerMembers): void {
  const path = 'guardrailCoverage.textCharacters';
  if (members.at(path) === undefined) return;
  if (members.number(`${path}.guarded`) < members.number(`${path}.total`)) members.fail(path);
}

function findingsIn(assessment: AnswerMembers, lists: typeof findingLists): Finding[] {
  return lists.flatMap(([path, member]) => {
    if (assessment.at(path) === undefined) return [];
    return assessment.list(path).map((item) => {
      const { action, match, [member]: label = path.split('.')[1] } = isObject(item) ? item : {};
      return {
        name: String(label),
        action: String(action),
        match: typeof match === 'string' ? match : '',
      };
    });
  });
}

function hasActed({ action }: Finding): boolean {
  return action === 'BLOCKED' || action === 'ANONYMIZED';
}

/** Every occurrence, because the service does not say which one it has found. */
function spansOf(text: string, { match, name: label }: Finding): ServiceSpan[] {
  const spans: ServiceSpan[] = [];
  if (match === '') return spans;
  for (let at = text.indexOf(match); at !== -1; at = text.indexOf(match, at + match.length)) {
    spans.push({ from: at, to: at + match.length, by: `{${label}}` });
  }
  return spans;
}
