/** Has Prisma AIRS scan prompts and responses by a security profile. */
import { isObject } from '../../model/json/read-object.ts';
import { CheckError, type CheckSubject } from '../check.ts';
import { AnswerMembers, trueNames } from './answer-members.ts';
import {
  type Parameters,
  requireCredential,
  serviceEndpoint,
  textParameter,
} from './check-parameters.ts';
import type {
  RemoteService,
  ServiceRequest,
  ServiceVerdict,
  TextChange,
} from './remote-service.ts';
import { type ScanScope, selectByScope } from './scan-scope.ts';

const name = 'Prisma AIRS';
const usualEndpoint = 'https://service.api.aisecurity.paloaltonetworks.com';
/** Limit of a synchronous scan. */
const textBytesMax = 2 * 1024 * 1024;
const transactionIdMax = 100;
/** Detections whose findings masked data contain. */
const maskedDetections: ReadonlySet<string> = new Set(['dlp']);

export function prismaAirs(parameters: Parameters): RemoteService {
  const isRedacting = parameters.redact === true;
  const scope = textParameter(parameters, 'scan_scope', 'last_message') as ScanScope;
  return {
    name,
    limit: { unit: 'bytes', max: textBytesMax },
    textsMax: 1,
    changesTexts: isRedacting,
    select: (subject) => selectByScope(subject, scope, parameters.strip_scaffolding === true),
    request: ([text = ''], subject) => requestOf(parameters, text, subject),
    read: (answer, [text = ''], request) => verdictIn(answer, text, request, isRedacting),
  };
}

function requestOf(parameters: Parameters, text: string, subject: CheckSubject): ServiceRequest {
  const profile = Object.fromEntries(
    ['profile_id', 'profile_name']
      .map((member) => [member, textParameter(parameters, member)] as const)
      .filter(([, value]) => value !== ''),
  );
  const appName = textParameter(parameters, 'app_name');
  const { _user: user } = subject.metadata;
  return {
    url: `${serviceEndpoint(parameters, usualEndpoint)}/v1/scan/sync/request`,
    headers: { 'x-pan-token': requireCredential(parameters, 'AIRS_API_KEY', 'apiKey') },
    body: {
      // Without a profile the service uses that of the key.
      ...(Object.keys(profile).length === 0 ? {} : { ai_profile: profile }),
      metadata: {
        ai_model: textParameter(parameters, 'ai_model', subject.model ?? 'unknown-model'),
        app_user: textParameter(
          parameters,
          'app_user',
          typeof user === 'string' ? user : 'gatewright',
        ),
        ...(appName === '' ? {} : { app_name: appName }),
      },
      contents: [{ [subject.side === 'input' ? 'prompt' : 'response']: text }],
    },
    perRequest: { tr_id: subject.traceId.slice(0, transactionIdMax) },
  };
}

function verdictIn(
  answer: Parameters,
  text: string,
  request: ServiceRequest,
  isRedacting: boolean,
): ServiceVerdict {
  const members = new AnswerMembers(name, answer);
  requireEcho(members, request);
  const isBlocked = members.word('action', ['allow', 'alert', 'block']) === 'block';
  if (!isBlocked && (answer.timeout === true || answer.error === true)) {
    throw new CheckError(`${name} could not complete all detections`);
  }
  const detected = ['prompt_detected', 'response_detected']
    .map((member) => members.at(member))
    .flatMap((flags) => (isObject(flags) ? trueNames(flags) : []));
  const { category } = answer;
  const findings = detected.length > 0 || typeof category !== 'string' ? detected : [category];
  if (!isRedacting) return { passes: !isBlocked, findings: isBlocked ? findings : detected };
  const masked = maskedText(members, request);
  const isMasked = masked !== null && masked !== text;
  const isMaskable = isMasked && detected.every((one) => maskedDetections.has(one));
  const change: TextChange = isMasked ? { text: masked } : null;
  return {
    passes: !isBlocked || (isMaskable && detected.length > 0),
    findings: isBlocked ? findings : detected,
    changes: [change],
  };
}

/** @throws CheckError for the verdict on another request, or by another profile */
function requireEcho(members: AnswerMembers, { body, perRequest }: ServiceRequest): void {
  const { profile_id: id, profile_name: profile } = (body.ai_profile ?? {}) as Parameters;
  const sent = {
    tr_id: perRequest?.tr_id,
    ...(id === undefined ? { profile_name: profile } : { profile_id: id }),
  };
  for (const [member, value] of Object.entries(sent)) {
    const echo = members.at(member);
    const isEchoed = typeof echo === 'string' && echo !== '' && value !== undefined;
    if (isEchoed && echo !== value) members.fail(member);
  }
}

/** Null where the side that was sent has no masked text. */
function maskedText(members: AnswerMembers, { body }: ServiceRequest): string | null {
  const [sent] = body.contents as readonly object[];
  const [side] = Object.keys(sent!);
  const data = members.at(`${side}_masked_data.data`);
  return typeof data === 'string' ? data : null;
}
