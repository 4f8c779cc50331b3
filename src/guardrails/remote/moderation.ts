/** Has the moderation models of OpenAI and Mistral sort texts into categories. */
import { CheckError, type CheckSubject } from '../check.ts';
import { AnswerMembers } from './answer-members.ts';
import {
  checkCredentials,
  type Parameters,
  serviceEndpoint,
  textParameter,
  textsParameter,
} from './check-parameters.ts';
import type {
  RemoteService,
  ServiceModel,
  ServiceRequest,
  ServiceVerdict,
} from './remote-service.ts';
import { namedAccount } from './required-account.ts';
import type { ServiceAccounts } from './service-accounts.ts';

type Format = 'openai' | 'mistral-ai';

interface ModerationModel {
  readonly name: string;
  readonly base: string;
  readonly model: string;
}

const models: Readonly<Record<Format, ModerationModel>> = {
  openai: {
    name: 'OpenAI moderation',
    base: 'https://api.openai.com/v1',
    model: 'omni-moderation-latest',
  },
  'mistral-ai': {
    name: 'Mistral moderation',
    base: 'https://api.mistral.ai/v1',
    model: 'mistral-moderation-latest',
  },
};

/** The category of Mistral that contains a category of OpenAI. */
const mistralCategories: Readonly<Record<string, string>> = {
  harassment: 'hate_and_discrimination',
  'harassment/threatening': 'violence_and_threats',
  hate: 'hate_and_discrimination',
  'hate/threatening': 'hate_and_discrimination',
  illicit: 'dangerous_and_criminal_content',
  'illicit/violent': 'dangerous_and_criminal_content',
  'self-harm': 'selfharm',
  'self-harm/instructions': 'selfharm',
  'self-harm/intent': 'selfharm',
  sexual: 'sexual',
  'sexual/minors': 'sexual',
  violence: 'violence_and_threats',
  'violence/graphic': 'violence_and_threats',
};

const path = '/moderations';

/** Well below the context of the models. */
const limit = { unit: 'characters', max: 15_000 } as const;

type Factory = (parameters: Parameters, accounts: ServiceAccounts | null) => RemoteService;

/** The categories are those of OpenAI. */
export const portkeyModeration: Factory = (parameters, accounts) =>
  moderation('Moderation', ['openai', 'mistral-ai'], parameters, accounts);

export const mistralModeration: Factory = (parameters, accounts) =>
  moderation('Mistral moderation', ['mistral-ai'], parameters, accounts);

function moderation(
  name: string,
  formats: readonly Format[],
  parameters: Parameters,
  accounts: ServiceAccounts | null,
): RemoteService {
  const categories = textsParameter(parameters, 'categories');
  return {
    name,
    limit,
    textsMax: 1,
    changesTexts: false,
    request: (texts, subject) => requestOf(parameters, accounts, formats, texts, subject),
    read: (answer, texts, { format }) =>
      verdictIn(answer, texts, format as Format, formats, categories),
  };
}

async function requestOf(
  parameters: Parameters,
  accounts: ServiceAccounts | null,
  formats: readonly Format[],
  texts: readonly string[],
  subject: CheckSubject,
): Promise<ServiceRequest> {
  const { format, base, headers, model } = await accountOf(parameters, accounts, formats, subject);
  const name = textParameter(parameters, 'model', models[format].model);
  const body = { model: name, input: texts };
  return { url: `${base}${path}`, headers, body, format, model };
}

interface ModerationAccount {
  readonly format: Format;
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent for credentials of the check, whose calls the gateway does not charge. */
  readonly model?: ServiceModel;
}

/** The credentials of the check, the provider that it names, or the first provider of the workspace. */
async function accountOf(
  parameters: Parameters,
  accounts: ServiceAccounts | null,
  formats: readonly Format[],
  subject: CheckSubject,
): Promise<ModerationAccount> {
  const apiKey = textParameter(checkCredentials(parameters), 'apiKey');
  const [first] = formats;
  if (apiKey !== '' && first !== undefined) {
    const headers = { authorization: `Bearer ${apiKey}` };
    return { format: first, base: serviceEndpoint(parameters, models[first].base), headers };
  }
  const { tenant } = subject;
  const account =
    (await namedAccount(parameters, accounts, subject, formats)) ??
    (tenant === undefined ? null : await accounts?.providerOf(tenant, null, formats)) ??
    null;
  if (account === null) {
    const services = formats.map((one) => (one === 'openai' ? 'OpenAI' : 'Mistral')).join(' or ');
    throw new CheckError(
      `the workspace has no provider at ${services}: add one, or set credentials.apiKey of the check`,
    );
  }
  const { name, mark, customHost } = account;
  const format = account.service as Format;
  const base = customHost ?? models[format].base;
  return { format, base, headers: {}, model: { provider: name, mark, path } };
}

function verdictIn(
  answer: Parameters,
  texts: readonly string[],
  format: Format,
  formats: readonly Format[],
  categories: readonly string[],
): ServiceVerdict {
  const { name } = models[format];
  const members = new AnswerMembers(name, answer);
  const results = members.itemsFor(texts, 'results');
  const isTranslated = format === 'mistral-ai' && formats.length > 1;
  const flagged = new Set<string>();
  for (const result of results) {
    const flags = result.object('categories');
    for (const category of categories) {
      const own = isTranslated ? mistralCategories[category] : category;
      if (own === undefined) throw new CheckError(`${name} has no category ${nameOf(category)}`);
      const flag = Object.hasOwn(flags, own) ? flags[own] : undefined;
      if (typeof flag !== 'boolean') {
        throw new CheckError(`${name} returned no verdict on the category ${nameOf(category)}`);
      }
      if (flag) flagged.add(category);
    }
  }
  return { passes: flagged.size === 0, findings: [...flagged] };
}

function nameOf(category: string): string {
  return category.replace(/[^\w/ -]/g, '').slice(0, 60);
}
