/** Describes an endpoint of the catalogue as docs/reference/endpoints.md does. */
import type { ListedEndpoint } from '../../../src/model/endpoints/endpoint.ts';
import { type Metering, meterings } from '../../../src/model/endpoints/metering.ts';
import { unjudgedResponse } from '../../../src/model/endpoints/unjudged-response.ts';

/** The cells of its row: method and path, usage, judged texts, members that name objects. */
export function endpointRow(endpoint: ListedEndpoint): string[] {
  const { method, path, requestTexts, responseTexts, references } = endpoint;
  const named = method === 'POST' ? references : [];
  const unjudged = unjudgedResponse(endpoint);
  const judged = [
    (requestTexts !== null || method === 'POST') && 'request',
    responseTexts && 'response',
    unjudged && `not the response (${unjudged})`,
  ].filter(Boolean);
  return [code(`${method} ${path}`), usageOf(endpoint), judged.join(', '), codes(named)];
}

/** The cells of its row in the list of queries; null for an endpoint that has common members only. */
export function queryRow({ method, path, query }: ListedEndpoint): string[] | null {
  return query.length === 0 ? null : [code(`${method} ${path}`), codes(query)];
}

function usageOf({ metering, storedMembers }: ListedEndpoint): string {
  if (metering === 'nothing') return 'none';
  if (metering === 'unbounded') return 'unbounded';
  if (metering === 'batches') return 'its requests';
  const condition =
    storedMembers === null ? '' : ` with another member than ${codes(storedMembers)}`;
  return boundOf(meterings[metering]) + condition;
}

function boundOf({ maxNames, countNames, output }: Metering): string {
  const times = countNames.length === 0 ? '' : ` × ${codes(countNames)}`;
  if (output === 'none') return 'input';
  if (output === 'speech') return 'length of `input`';
  return (typeof output === 'number' ? `${output} tokens` : codes(maxNames)) + times;
}

function codes(names: readonly string[]): string {
  return names.map(code).join(', ');
}

function code(text: string): string {
  return `\`${text}\``;
}
