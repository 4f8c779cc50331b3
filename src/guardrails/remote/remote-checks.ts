/** Builds the checks that remote services run, which share breakers and a cache of verdicts. */
import type { Outbound } from '../../upstream/outbound.ts';
import type { CheckRunner } from '../check.ts';
import type { CheckSource } from '../guardrail.ts';
import {
  azureContentSafety,
  azureProtectedMaterial,
  azureShieldPrompt,
} from './azure-content-safety.ts';
import { azurePii } from './azure-pii.ts';
import { bedrockGuardrail } from './bedrock-guardrail.ts';
import { type Parameters, serviceTerms } from './check-parameters.ts';
import { genericFormat, genericGuardrail } from './generic-guardrail.ts';
import { mistralModeration, portkeyModeration } from './moderation.ts';
import { answerPartners } from './partners/answer-partners.ts';
import { changingPartners } from './partners/changing-partners.ts';
import { type PartnerFormat, partnerService } from './partners/partner-format.ts';
import { verdictPartners } from './partners/verdict-partners.ts';
import { prismaAirs } from './prisma-airs.ts';
import type { RemoteService } from './remote-service.ts';
import { serviceRunner } from './run-service.ts';
import type { ServiceAccounts } from './service-accounts.ts';
import { ServiceCalls } from './service-calls.ts';

interface RemoteChecksOptions {
  readonly outbound: Pick<Outbound, 'request'>;
  /** Null where checks use no accounts but the keys that they have themselves. */
  readonly accounts: ServiceAccounts | null;
  /** Monotonic time in milliseconds. */
  readonly clock?: () => number;
}

type ServiceFactory = (parameters: Parameters, accounts: ServiceAccounts | null) => RemoteService;

const partners: Readonly<Record<string, PartnerFormat>> = {
  ...verdictPartners,
  ...changingPartners,
  ...answerPartners,
};

/** By id in lower case. */
const services: Readonly<Record<string, ServiceFactory>> = {
  ...Object.fromEntries(
    Object.entries(partners).map(([id, format]) => [
      id,
      (parameters: Parameters) => partnerService(format, parameters),
    ]),
  ),
  'azure.contentsafety': azureContentSafety,
  'azure.pii': azurePii,
  'azure.protectedmaterial': azureProtectedMaterial,
  'azure.shieldprompt': azureShieldPrompt,
  'bedrock.guard': bedrockGuardrail,
  'mistral.moderatecontent': mistralModeration,
  'panw-prisma-airs.intercept': prismaAirs,
  'panwprismaairs.intercept': prismaAirs,
  'portkey.moderatecontent': portkeyModeration,
};

const webhookId = 'default.webhook';

export class RemoteChecks implements CheckSource {
  readonly #calls: ServiceCalls;
  readonly #accounts: ServiceAccounts | null;

  constructor({ outbound, accounts, clock }: RemoteChecksOptions) {
    this.#calls = new ServiceCalls(outbound, clock);
    this.#accounts = accounts;
  }

  /** Undefined for a check that no service runs. `id` in lower case. */
  runnerOf(id: string, parameters: Parameters): CheckRunner | undefined {
    const service = this.#serviceOf(id, parameters);
    if (service === undefined) return undefined;
    // A webhook of the user sees every request unless the check says otherwise.
    const terms = serviceTerms(id, parameters, id === webhookId ? 0 : undefined);
    return serviceRunner(service, this.#calls, terms);
  }

  changesTexts(id: string, parameters: Parameters): boolean {
    return this.#serviceOf(id, parameters)?.changesTexts === true;
  }

  #serviceOf(id: string, parameters: Parameters): RemoteService | undefined {
    if (id === webhookId) {
      return parameters.format === genericFormat ? genericGuardrail(parameters) : undefined;
    }
    return Object.hasOwn(services, id) ? services[id]!(parameters, this.#accounts) : undefined;
  }
}
