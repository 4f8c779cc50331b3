/** Catalogue of the checks that services and mounted models run: parameters, credentials and addresses. */
import { z } from 'zod';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { isObject } from '../json/read-object.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { type Fault, faultAt, faultsOfIssues } from '../wire/fault.ts';
import type { CheckKind } from './check-kind.ts';

type Parameters = Readonly<Record<string, unknown>>;

const text = z.string().min(1).optional();
const flag = z.boolean().optional();
const strings = z.array(z.string()).min(1);

/** Parameters of every check that a service runs. */
const common = {
  /** Only texts of this level are encrypted. */
  credentials: z.record(z.string(), z.string()).optional(),
  /** Replaces the usual address of the service. */
  endpoint: text,
  timeout: z.number().positive().max(60_000).optional(),
  cacheSeconds: z.int().min(0).max(3_600).optional(),
  failOnError: flag,
  executeOnProxy: flag,
};

interface RemoteKind {
  readonly name: string;
  readonly about: string;
  readonly shape: z.ZodRawShape;
  /** Names of the credential, of which one is required; empty if the check can use another account. */
  readonly credentials: readonly string[];
}

function remote({ name, about, shape, credentials }: RemoteKind): CheckKind {
  return {
    name,
    about,
    parameters: z.looseObject({ ...shape, ...common }),
    tools: false,
    faults: addressFaults,
    warnings: (parameters) => credentialWarnings(parameters, credentials),
  };
}

/** Types of the parameters that this gateway reads besides those of the partner. */
const partnerParameters = z.looseObject(common);

/** The parameters of a partner are accepted unseen. */
function partner(name: string, about: string, credentials: readonly string[]): CheckKind {
  return {
    name,
    about,
    parameters: z.record(z.string(), z.unknown()),
    tools: false,
    faults: (parameters, trusted) => {
      const parsed = partnerParameters.safeParse(parameters);
      return parsed.success
        ? addressFaults(parameters, trusted)
        : faultsOfIssues(parsed.error.issues);
    },
    warnings: (parameters) => credentialWarnings(parameters, credentials),
  };
}

function addressFaults(parameters: Parameters, trusted: TrustedHosts): Fault[] {
  const { endpoint, provider } = parameters;
  if (typeof endpoint !== 'string') return [];
  if (typeof provider === 'string') {
    return faultAt('endpoint', 'must be absent beside provider, whose address is used');
  }
  return faultAt('endpoint', outboundUrlFault(endpoint, trusted));
}

/** Clients may store an account elsewhere, so that a check without credentials is saved; it cannot judge. */
function credentialWarnings(
  { credentials, provider }: Parameters,
  names: readonly string[],
): Fault[] {
  if (names.length === 0 || typeof provider === 'string') return [];
  const given = isObject(credentials) ? credentials : {};
  if (names.some((name) => Object.hasOwn(given, name))) return [];
  const message = `has no ${names[0]}, so the check cannot judge: accounts of services are not stored elsewhere`;
  return [{ path: ['credentials'], message }];
}

const airs = remote({
  name: 'Prisma AIRS',
  about: 'A security profile of Prisma AIRS decides.',
  credentials: ['AIRS_API_KEY', 'apiKey'],
  shape: {
    profile_name: text,
    profile_id: text,
    ai_model: text,
    app_user: text,
    app_name: text,
    scan_scope: z
      .enum(['last_message', 'last_user_message', 'user_messages', 'all_messages'])
      .optional(),
    strip_scaffolding: flag,
    redact: flag,
  },
});

/** A slug of a provider whose account is used. */
const provider = text;
const azure = { provider, apiVersion: text };
const azureCredentials = ['apiKey', 'clientSecret'];

/** Checks whose parameters this gateway types. */
const typed: Readonly<Record<string, CheckKind>> = {
  'panw-prisma-airs.intercept': airs,
  'panwPrismaAirs.intercept': airs,
  'bedrock.guard': remote({
    name: 'Bedrock',
    about: 'A guardrail of Amazon Bedrock decides.',
    credentials: ['awsAccessKeyId', 'accessKeyId', 'apiKey'],
    shape: {
      guardrailId: z.string().min(1),
      guardrailVersion: z.string().min(1),
      redact: flag,
      provider,
    },
  }),
  'azure.contentSafety': remote({
    name: 'Azure content safety',
    about: 'The text is not harmful, and on no blocklist.',
    credentials: azureCredentials,
    shape: {
      ...azure,
      categories: strings.optional(),
      blocklistNames: strings.optional(),
      severity: z.int().min(0).max(7).optional(),
    },
  }),
  'azure.shieldPrompt': remote({
    name: 'Azure prompt shields',
    about: 'The request does not attack the model.',
    credentials: azureCredentials,
    shape: azure,
  }),
  'azure.protectedMaterial': remote({
    name: 'Azure protected material',
    about: 'The response repeats no protected material.',
    credentials: azureCredentials,
    shape: azure,
  }),
  'azure.pii': remote({
    name: 'Azure personal data',
    about: 'The text contains no personal data.',
    credentials: azureCredentials,
    shape: {
      ...azure,
      redact: flag,
      domain: z.enum(['none', 'phi', 'healthcare']).optional(),
      modelVersion: text,
      language: text,
      piiCategories: strings.optional(),
    },
  }),
  'mistral.moderateContent': remote({
    name: 'Mistral moderation',
    about: 'The text belongs to none of the categories.',
    credentials: [],
    shape: { categories: strings.optional(), model: text, provider },
  }),
  'portkey.moderateContent': remote({
    name: 'Moderate content',
    about: 'The text belongs to none of the categories.',
    credentials: [],
    shape: { categories: strings, model: text, provider },
  }),
};

/** Whether a model is mounted is known to the gateway only. */
const modelWarning: Fault = {
  path: [],
  message:
    'judge only where the operator has mounted a model at the gateway (GATEWRIGHT_GUARDRAIL_MODEL_DIR)',
};

const modelCheck: CheckKind = {
  name: 'Mounted model',
  about: 'A model that the operator has mounted finds none of the labels.',
  parameters: z.looseObject({
    labels: strings.optional(),
    threshold: z.number().min(0).max(1).optional(),
    redact: flag,
    not: flag,
    timeout: common.timeout,
    failOnError: flag,
    executeOnProxy: flag,
  }),
  tools: false,
  warnings: () => [modelWarning],
};

/** Name and statement of the partner services, and the names of their credential; empty for none. */
const partners: Readonly<Record<string, readonly [string, string, ...string[]]>> = {
  'acuvity.Acuvity': ['Acuvity', 'Acuvity finds nothing that it was asked for.', 'apiKey'],
  'acuvity.scan': ['Acuvity', 'Acuvity finds nothing that it was asked for.', 'apiKey'],
  'akto.scan': ['Akto', 'Akto allows the text.', 'apiKey'],
  'aporia.validateProject': ['Aporia', 'A project of Aporia passes the text.', 'apiKey'],
  'crowdstrike-aidr.guardChatCompletions': [
    'CrowdStrike AIDR',
    'A policy of CrowdStrike AIDR decides.',
    'apiKey',
  ],
  'f5-guardrails.scan': ['F5 AI Guardrails', 'A project of F5 clears the text.', 'apiKey'],
  'javelin.guardrails': ['Javelin', 'The application policy of Javelin decides.', 'apiKey'],
  'lasso.classify': ['Lasso', 'Lasso finds no violation.', 'apiKey'],
  'pangea.pii': ['Pangea Redact', 'The text contains no personal data.', 'apiKey'],
  'pangea.textGuard': ['Pangea AI Guard', 'Pangea finds nothing malicious.', 'apiKey'],
  'patronus.custom': ['Patronus', 'The response meets a criterion of your own.', 'apiKey'],
  'patronus.isConcise': ['Patronus', 'The response is concise.', 'apiKey'],
  'patronus.isHelpful': ['Patronus', 'The response is helpful.', 'apiKey'],
  'patronus.isPolite': ['Patronus', 'The response is polite.', 'apiKey'],
  'patronus.noApologies': ['Patronus', 'The response apologises for nothing.', 'apiKey'],
  'patronus.noGenderBias': ['Patronus', 'The response has no gender bias.', 'apiKey'],
  'patronus.noRacialBias': ['Patronus', 'The response has no racial bias.', 'apiKey'],
  'patronus.phi': ['Patronus', 'The text contains no health information.', 'apiKey'],
  'patronus.pii': ['Patronus', 'The text contains no personal data.', 'apiKey'],
  'patronus.retrievalAnswerRelevance': ['Patronus', 'The response answers the question.', 'apiKey'],
  'patronus.toxicity': ['Patronus', 'The response is not toxic.', 'apiKey'],
  'pillar.scanPrompt': ['Pillar', 'No scanner of Pillar finds anything.', 'apiKey'],
  'pillar.scanResponse': ['Pillar', 'No scanner of Pillar finds anything.', 'apiKey'],
  'promptfoo.guard': ['Promptfoo', 'The text is no jailbreak.'],
  'promptfoo.harm': ['Promptfoo', 'The text is not harmful.'],
  'promptfoo.pii': ['Promptfoo', 'The text contains no personal data.'],
  'promptsecurity.protectPrompt': ['Prompt Security', 'Prompt Security decides.', 'apiKey'],
  'promptsecurity.protectResponse': ['Prompt Security', 'Prompt Security decides.', 'apiKey'],
  'qualifire.contentModeration': ['Qualifire', 'The text is not harmful.', 'apiKey'],
  'qualifire.grounding': ['Qualifire', 'The response is grounded in the request.', 'apiKey'],
  'qualifire.hallucinations': ['Qualifire', 'The response invents nothing.', 'apiKey'],
  'qualifire.pii': ['Qualifire', 'The text contains no personal data.', 'apiKey'],
  'qualifire.policy': ['Qualifire', 'The text violates no policy.', 'apiKey'],
  'qualifire.promptInjections': ['Qualifire', 'The request injects no prompt.', 'apiKey'],
  'qualifire.toolUseQuality': ['Qualifire', 'The response calls fitting tools.', 'apiKey'],
  'sydelabs.sydeguard': ['SydeGuard', 'The scores are below the thresholds.', 'apiKey'],
  'walledai.walledprotect': ['Walled AI', 'Walled AI finds the text safe.', 'apiKey'],
  'zscaler-ai-guard.zscalerprotect': [
    'Zscaler AI Guard',
    'A policy of Zscaler allows the text.',
    'apiKey',
    'zscalerApiKey',
    'AIGUARD_API_KEY',
  ],
};

/** By id, in the spelling of clients. */
export const remoteCheckKinds: Readonly<Record<string, CheckKind>> = {
  'gatewright.model': modelCheck,
  ...typed,
  ...Object.fromEntries(
    Object.entries(partners).map(([id, [name, about, ...credentials]]) => [
      id,
      partner(name, about, credentials),
    ]),
  ),
};
