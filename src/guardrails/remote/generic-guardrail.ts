/** Has a webhook judge texts in the form of LiteLLM's Generic Guardrail API, which many vendors implement. */
import { isObject } from '../../model/json/read-object.ts';
import type { CheckSubject } from '../check.ts';
import { webhookHeaders } from '../outbound-checks.ts';
import { AnswerMembers } from './answer-members.ts';
import { type Parameters, textParameter } from './check-parameters.ts';
import type { RemoteService, ServiceRequest, ServiceVerdict } from './remote-service.ts';

const name = 'The guardrail API';
const path = '/beta/litellm_basic_guardrail_api';
/** The API states no limit; these keep a request at the size of other bodies. */
const charactersMax = 2_000_000;
const textsMax = 10_000;

/** Value of `format` of a webhook in this form. */
export const genericFormat = 'generic_guardrail_api';

export function genericGuardrail(parameters: Parameters): RemoteService {
  return {
    name,
    limit: { unit: 'characters', max: charactersMax },
    textsMax,
    changesTexts: true,
    request: (texts, subject) => requestOf(parameters, texts, subject),
    read: (answer, texts) => verdictIn(answer, texts),
  };
}

function requestOf(
  parameters: Parameters,
  texts: readonly string[],
  subject: CheckSubject,
): ServiceRequest {
  const { side, params, metadata, tenant, traceId, model } = subject;
  const isInput = side === 'input';
  const { messages, tools } = params;
  const { additional_provider_specific_params: additional } = parameters;
  const about = {
    user_api_key_user_id: metadata._user,
    user_api_key_team_id: tenant?.workspaceId ?? undefined,
    user_api_key_org_id: tenant?.organisationId,
  };
  return {
    url: addressOf(textParameter(parameters, 'webhookURL')),
    headers: webhookHeaders(parameters, subject),
    body: {
      texts,
      ...(isInput && Array.isArray(messages) ? { structured_messages: messages } : {}),
      ...(isInput && Array.isArray(tools) ? { tools } : {}),
      ...(model === null ? {} : { model }),
      request_data: about,
      input_type: isInput ? 'request' : 'response',
      additional_provider_specific_params: isObject(additional) ? additional : {},
    },
    perRequest: { litellm_call_id: traceId, litellm_trace_id: traceId },
  };
}

/** The path of the API is added, as LiteLLM does. */
function addressOf(webhookUrl: string): string {
  const url = new URL(webhookUrl);
  if (!url.pathname.endsWith(path)) url.pathname = url.pathname.replace(/\/+$/, '') + path;
  return url.href;
}

function verdictIn(answer: Parameters, texts: readonly string[]): ServiceVerdict {
  const members = new AnswerMembers(name, answer);
  const action = members.word('action', ['none', 'blocked', 'guardrail_intervened']);
  const reason = members.at('blocked_reason');
  const about = { findings: [], reason: typeof reason === 'string' ? reason : undefined };
  if (action === 'blocked') return { ...about, passes: false };
  if (action === 'none') return { ...about, passes: true };
  const changed = members.list('texts');
  const isFit =
    changed.length === texts.length && changed.every((text) => typeof text === 'string');
  if (!isFit) members.fail('texts');
  const changes = (changed as string[]).map((text, at) => (text === texts[at] ? null : { text }));
  return { ...about, passes: true, changes };
}
