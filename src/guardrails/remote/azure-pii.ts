/** Has the Language service of Azure find personal data, and replaces it. */
import { CheckError } from '../check.ts';
import { AnswerMembers } from './answer-members.ts';
import { azureAccess } from './azure-access.ts';
import { version } from './azure-content-safety.ts';
import { type Parameters, textParameter, textsParameter } from './check-parameters.ts';
import type { RemoteService, ServiceSpan, ServiceVerdict, TextChange } from './remote-service.ts';
import type { ServiceAccounts } from './service-accounts.ts';

const name = 'Azure PII detection';
/** Limits of one synchronous request. */
const [charactersMax, documentsMax] = [5_120, 5];

export function azurePii(parameters: Parameters, accounts: ServiceAccounts | null): RemoteService {
  const isRedacting = parameters.redact === true;
  const categories = textsParameter(parameters, 'piiCategories');
  return {
    name,
    limit: {
      unit: 'characters',
      max: charactersMax,
      totalMax: charactersMax * documentsMax,
    },
    textsMax: documentsMax,
    changesTexts: isRedacting,
    request: async (texts, subject) => {
      const { address, headers } = await azureAccess(parameters, accounts, subject);
      const language = textParameter(parameters, 'language', 'en');
      return {
        url: `${address}/language/:analyze-text?api-version=${version(parameters, '2023-04-01')}`,
        headers,
        body: {
          kind: 'PiiEntityRecognition',
          parameters: {
            domain: textParameter(parameters, 'domain', 'none'),
            modelVersion: textParameter(parameters, 'modelVersion', 'latest'),
            ...(categories.length === 0 ? {} : { piiCategories: categories }),
            // Positions are those of JavaScript.
            stringIndexType: 'Utf16CodeUnit',
          },
          analysisInput: {
            documents: texts.map((text, at) => ({ id: String(at), language, text })),
          },
        },
      };
    },
    read: (answer, texts) => verdictIn(answer, texts, isRedacting),
  };
}

function verdictIn(
  answer: Parameters,
  texts: readonly string[],
  isRedacting: boolean,
): ServiceVerdict {
  const members = new AnswerMembers(name, answer);
  if (members.list('results.errors').length > 0) {
    throw new CheckError(`${name} could not analyse a text`);
  }
  const documents = new Map(
    members.itemsFor(texts, 'results.documents').map((one) => [one.text('id'), one] as const),
  );
  const findings: string[] = [];
  const changes = texts.map((text, at): TextChange => {
    const document = documents.get(String(at)) ?? members.fail('results.documents');
    const entities = document.items('entities');
    const spans = entities.map((entity) => spanOf(entity, text));
    findings.push(...entities.map((entity) => entity.text('category')));
    return spans.length === 0 ? null : { spans };
  });
  if (isRedacting) return { passes: true, findings, changes };
  return { passes: findings.length === 0, findings };
}

/** @throws CheckError for a position at which the text is not the found one */
function spanOf(entity: AnswerMembers, text: string): ServiceSpan {
  const from = entity.number('offset');
  const length = entity.number('length');
  const isExact = length > 0 && text.slice(from, from + length) === entity.text('text');
  if (!isExact || from < 0) return entity.fail('position of an entity');
  return { from, to: from + length, by: '*'.repeat(length) };
}
