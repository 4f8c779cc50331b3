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
    read: (answer) => verdictIn(answer, isRedacting),
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

function verdictIn(answer: Parameters, isRedacting: boolean): ServiceVerdict {
  const members = new AnswerMembers(name, answer);
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
  const masked = maskedText(members);
  const isMaskable = masked !== null && detected.every((one) => maskedDetections.has(one));
  return {
    passes: !isBlocked || (isMaskable && detected.length > 0),
    findings: isBlocked ? findings : detected,
    changes: [masked],
  };
}

function maskedText(members: AnswerMembers): TextChange {
  for (const member of ['prompt_masked_data', 'response_masked_data']) {
    const data = members.at(`${member}.data`);
    if (typeof data === 'string') return { text: data };
  }
  return null;
}
