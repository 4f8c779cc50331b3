/** Builds a check of a partner service from a description of its requests and responses. */
import type { CheckSubject } from '../../check.ts';
import { AnswerMembers } from '../answer-members.ts';
import { checkCredentials, type Parameters, requireCredential } from '../check-parameters.ts';
import type { RemoteService, ServiceVerdict } from '../remote-service.ts';

/** Everything from which a request is built. */
export interface PartnerRequest {
  readonly texts: readonly string[];
  /** The first of the texts. */
  readonly text: string;
  readonly parameters: Parameters;
  readonly credentials: Parameters;
  readonly subject: CheckSubject;
  readonly isInput: boolean;
}

export interface PartnerFormat {
  readonly name: string;
  /** Names of the credential that is sent, of which the first one is documented; empty for none. */
  readonly key: readonly string[];
  /** Header of the credential; `Bearer ` precedes it in `authorization`. */
  readonly header: string;
  readonly url: (request: PartnerRequest) => string;
  readonly body: (request: PartnerRequest) => Readonly<Record<string, unknown>>;
  readonly read: (
    answer: AnswerMembers,
    parameters: Parameters,
    texts: readonly string[],
  ) => ServiceVerdict;
  /** Further headers. */
  readonly headers?: (request: PartnerRequest) => Readonly<Record<string, string>>;
  readonly side?: CheckSubject['side'];
  /** Whether texts are sent one by one or in a list, so that the service can change them; false by default. */
  readonly changesTexts?: (parameters: Parameters) => boolean;
  /** Texts of one request where they are not joined; 1 by default. */
  readonly textsMax?: number;
  /** UTF-16 code units of one text; 20,000 by default. */
  readonly charactersMax?: number;
}

/** Services that state no limit accept texts of this length. */
const usualCharactersMax = 20_000;

export function partnerService(format: PartnerFormat, parameters: Parameters): RemoteService {
  const { name, charactersMax = usualCharactersMax, textsMax = 1 } = format;
  return {
    name,
    limit: { unit: 'characters', max: charactersMax },
    textsMax,
    side: format.side,
    changesTexts: format.changesTexts?.(parameters) === true,
    request: (texts, subject) => {
      const [text = ''] = texts;
      const isInput = subject.side === 'input';
      const credentials = checkCredentials(parameters);
      const request = { texts, text, parameters, credentials, subject, isInput };
      const { header, key } = format;
      const prefix = header === 'authorization' ? 'Bearer ' : '';
      const own =
        key.length === 0 ? {} : { [header]: prefix + requireCredential(parameters, ...key) };
      return {
        url: format.url(request),
        headers: { ...own, ...format.headers?.(request) },
        body: format.body(request),
      };
    },
    read: (answer, texts) => format.read(new AnswerMembers(name, answer), parameters, texts),
  };
}

/** A verdict of yes or no. */
export function plainVerdict(passes: boolean, findings: readonly string[] = []): ServiceVerdict {
  return { passes, findings };
}
