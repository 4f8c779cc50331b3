/** Connects sessions of OpenAI's realtime API. */
import type { Ledger } from '../../../ledger/ledger.ts';
import { readJsonObject } from '../../../model/json/read-object.ts';
import { readEvent, textIn } from '../../../model/realtime/openai-events.ts';
import type { SettingsForm } from '../../../model/realtime/session-settings.ts';
import type { DialectName } from '../../../model/services/provider-addresses.ts';
import { usualAddress } from '../../../model/services/service-address.ts';
import { splitQuery } from '../../../upstream/dialects/dialect.ts';
import type { ResolvedTarget } from '../../targets/resolve-target.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import type { SocketMessage } from '../event-queue.ts';
import { limitRulesAt } from '../limit-rules.ts';
import type { RealtimeForm } from '../realtime-form.ts';
import { openAiRules } from './openai-rules.ts';

export function openAiForm(ledger: Ledger, form: SettingsForm, now: () => number): RealtimeForm {
  return {
    prepare: async (terms) => {
      const { target } = terms;
      requireRealtime(target);
      const limits = await limitRulesAt(terms, now());
      return {
        path: socketPath(target),
        headers: form === 'beta' ? betaHeaders : {},
        opening: null,
        release: () => undefined,
        rulesOf: (ports) => openAiRules(ports, ledger, form, limits),
      };
    },
    refusalIn,
  };
}

const betaHeaders = { 'openai-beta': 'realtime=v1' };

/** @throws GatewayError for a provider without OpenAI's realtime API */
function requireRealtime({ pricing, provider }: ResolvedTarget): void {
  if (realtimeDialects.has(usualAddress(pricing.service).dialect)) return;
  throw new GatewayError('not_found', `The provider ${provider} has no realtime API`);
}

const realtimeDialects: ReadonlySet<DialectName> = new Set<DialectName>([
  'openai',
  'azure-openai',
  'foundry-openai',
]);

/** The parameters are the query of the session; the older form of Azure names a deployment instead. */
function socketPath({ call }: ResolvedTarget): string {
  const [path, query] = splitQuery(call.path);
  const members = new URLSearchParams(query);
  const params = readJsonObject(call.body?.toString('utf8') ?? '') ?? {};
  for (const name of ['model', 'intent']) {
    const value = params[name];
    if (typeof value === 'string' && !members.has('deployment')) members.set(name, value);
  }
  return members.size === 0 ? path : `${path}?${members}`;
}

const refusalCharsMax = 500;

/** Providers accept the connection before they look at the model; an error in place of the session refuses it. */
function refusalIn({ data }: SocketMessage): string | null {
  const event = readEvent(data);
  if (event?.type !== 'error') return null;
  const message = textIn(event.error, 'message') ?? '';
  return `The provider has refused the session: ${message.slice(0, refusalCharsMax)}`;
}
