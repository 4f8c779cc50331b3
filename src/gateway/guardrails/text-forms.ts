/** Determines which texts of a request and its response guardrails judge, by the endpoint. */
import type { ResponseForm } from '../../guardrails/texts/answer-passages.ts';
import { endpointAt } from '../../model/endpoints/catalogue.ts';
import type { ListedEndpoint, TextsForm } from '../../model/endpoints/endpoint.ts';
import {
  type UnjudgedResponse,
  unjudgedResponse,
} from '../../model/endpoints/unjudged-response.ts';
import type { Exchange } from '../callers/exchange.ts';

export interface TextForms {
  /** Name of the endpoint that checks receive. */
  readonly endpoint: string;
  /** Format of the texts in the request, if it has a body. */
  readonly request: TextsForm;
  /** Format of the texts in the response; null when none are judged. */
  readonly response: ResponseForm | null;
  /** The part of the response that cannot be judged; null for none. */
  readonly unjudged: UnjudgedResponse | null;
  /** Whether a model is called; request and response are then judged even without texts. */
  readonly isModelRequest: boolean;
}

/** Requests that are not in the catalogue are refused before they are judged. */
const unlisted: TextForms = {
  endpoint: 'other',
  request: 'unknown',
  response: 'unknown',
  unjudged: null,
  isModelRequest: false,
};

const formsByEndpoint = new Map<ListedEndpoint, TextForms>();

export function textFormsOf({ path, request }: Pick<Exchange, 'path' | 'request'>): TextForms {
  const endpoint = endpointAt(request.method, path);
  if (endpoint === null) return unlisted;
  const known = formsByEndpoint.get(endpoint);
  if (known !== undefined) return known;
  const forms = formsOf(endpoint);
  formsByEndpoint.set(endpoint, forms);
  return forms;
}

function formsOf(listed: ListedEndpoint): TextForms {
  const { method, name, metering, requestTexts, responseTexts } = listed;
  const isModelRequest =
    method === 'POST' && metering !== 'nothing' && modelForms.has(requestTexts);
  const isWholeObject = method === 'GET' && modelForms.has(responseTexts);
  const form = isModelRequest ? requestTexts : isWholeObject ? responseTexts : null;
  return {
    endpoint: form ?? name,
    request: requestTexts ?? 'unknown',
    response: responseTexts === 'embeddings' ? null : responseTexts,
    unjudged: unjudgedResponse(listed),
    isModelRequest,
  };
}

/** Formats of model requests, which are judged even without texts. */
const modelForms: ReadonlySet<TextsForm | null> = new Set<TextsForm | null>([
  'chat_completions',
  'completions',
  'converse',
  'embeddings',
  'gemini',
  'messages',
  'responses',
]);
