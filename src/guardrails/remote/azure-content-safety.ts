/** Has Azure AI Content Safety analyse texts, and detect attacks in prompts and protected material in responses. */
import { CheckError, NothingToJudge } from '../check.ts';
import { AnswerMembers } from './answer-members.ts';
import { azureAccess } from './azure-access.ts';
import {
  numberParameter,
  type Parameters,
  textParameter,
  textsParameter,
} from './check-parameters.ts';
import type { RemoteService, ServiceVerdict } from './remote-service.ts';
import { hasToolResults } from './scan-scope.ts';
import type { ServiceAccounts } from './service-accounts.ts';

const name = 'Azure AI Content Safety';
const limit = { unit: 'characters', max: 10_000 } as const;
const usualCategories = ['Hate', 'SelfHarm', 'Sexual', 'Violence'];
/** Severity of the lowest level that is not safe. */
const usualSeverity = 2;
/** Shorter responses cannot be compared with protected material. */
const materialCharsMin = 110;

type Factory = (parameters: Parameters, accounts: ServiceAccounts | null) => RemoteService;

export const azureContentSafety: Factory = (parameters, accounts) => {
  const named = textsParameter(parameters, 'categories');
  const categories = named.length === 0 ? usualCategories : named;
  const blocklistNames = textsParameter(parameters, 'blocklistNames');
  return {
    name,
    limit,
    textsMax: 1,
    changesTexts: false,
    request: async ([text], subject) => {
      const { address, headers } = await azureAccess(parameters, accounts, subject);
      return {
        url: `${address}/contentsafety/text:analyze?api-version=${version(parameters, '2024-09-01')}`,
        headers,
        body: { text, categories, blocklistNames, outputType: 'FourSeverityLevels' },
      };
    },
    read: (answer) => {
      const severityMin = numberParameter(parameters, 'severity', usualSeverity);
      return analysis(answer, { categories, blocklistNames, severityMin });
    },
  };
};

interface AnalysisTerms {
  readonly categories: readonly string[];
  readonly blocklistNames: readonly string[];
  readonly severityMin: number;
}

function analysis(
  answer: Parameters,
  { categories, blocklistNames, severityMin }: AnalysisTerms,
): ServiceVerdict {
  const members = new AnswerMembers(name, answer);
  const analysed = members
    .items('categoriesAnalysis')
    .map((one) => ({ category: one.text('category'), severity: one.number('severity') }));
  const found = new Set(analysed.map(({ category }) => category));
  if (!categories.every((category) => found.has(category))) members.fail('categoriesAnalysis');
  const severe = analysed.filter(({ severity }) => severity >= severityMin);
  const isListed = blocklistNames.length > 0 || members.at('blocklistsMatch') !== undefined;
  const lists = isListed ? members.items('blocklistsMatch') : [];
  const listed = lists.map((one) => one.text('blocklistName'));
  const findings = [...severe.map(({ category }) => category), ...listed];
  return { passes: findings.length === 0, findings };
}

export const azureShieldPrompt: Factory = (parameters, accounts) => ({
  name: 'Azure Prompt Shields',
  limit,
  textsMax: 1,
  side: 'input',
  changesTexts: false,
  request: async ([text = ''], subject) => {
    const { address, headers } = await azureAccess(parameters, accounts, subject);
    return {
      url: `${address}/contentsafety/text:shieldPrompt?api-version=${version(parameters, '2024-09-01')}`,
      headers,
      // Instructions in results of tools are an attack only in a document.
      body: { userPrompt: text, documents: hasToolResults(subject) ? [text] : [] },
    };
  },
  read: (answer, _, { body: { documents } }) => {
    const members = new AnswerMembers('Azure Prompt Shields', answer);
    const isAttack = members.flag('userPromptAnalysis.attackDetected');
    const sent = documents as readonly string[];
    const isWithout = sent.length === 0 && members.at('documentsAnalysis') === undefined;
    const inDocuments = isWithout
      ? []
      : members.itemsFor(sent, 'documentsAnalysis').map((one) => one.flag('attackDetected'));
    const findings = [
      ...(isAttack ? ['userPromptAttack'] : []),
      ...(inDocuments.includes(true) ? ['documentAttack'] : []),
    ];
    return { passes: findings.length === 0, findings };
  },
});

export const azureProtectedMaterial: Factory = (parameters, accounts) => ({
  name: 'Azure Protected Material',
  limit,
  textsMax: 1,
  side: 'output',
  changesTexts: false,
  request: async ([text = ''], subject) => {
    if (text.length < materialCharsMin) {
      throw new NothingToJudge(`the text has less than ${materialCharsMin} characters`);
    }
    const { address, headers } = await azureAccess(parameters, accounts, subject);
    const query = `api-version=${version(parameters, '2024-09-01')}`;
    return {
      url: `${address}/contentsafety/text:detectProtectedMaterial?${query}`,
      headers,
      body: { text },
    };
  },
  read: (answer) => {
    const members = new AnswerMembers('Azure Protected Material', answer);
    const isDetected = members.flag('protectedMaterialAnalysis.detected');
    return { passes: !isDetected, findings: isDetected ? ['protectedMaterial'] : [] };
  },
});

/** @throws CheckError for a text that is no version */
export function version(parameters: Parameters, usual: string): string {
  const text = textParameter(parameters, 'apiVersion', usual);
  if (/^[\w.-]{1,40}$/.test(text)) return text;
  throw new CheckError('apiVersion must be a version, such as 2024-09-01');
}
