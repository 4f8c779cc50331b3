/** Defines what the commands for service accounts and child tenants share: options, lookups, checks. */
import { Failure } from '../../failure.ts';
import { tsgIdPattern } from '../../model/people/access-policy.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import { didYouMean } from '../../suggest.ts';
import type { AdminClient, ApiRequest } from '../../sync/server/client.ts';
import type { CommandIo } from '../shared/command.ts';
import { homeOption, type OptionTable, quoted, textOption } from '../shared/option.ts';
import { openClient, serverOptions } from '../sources/manifest-options.ts';
import { refusalAsFailure } from '../status/suspend.ts';

export interface TenantChoice {
  readonly 'tsg-id': string | undefined;
  readonly credentials: string | undefined;
  readonly home: string | undefined;
}

export const tenantOptions: OptionTable<TenantChoice> = {
  'tsg-id': textOption('DIGITS', {
    describe: 'Tenant to act in: that of the credentials, or one below',
    isValid: (given) => tsgIdPattern.test(given),
    expected: '10 digits, such as 1234567890',
    fallback: 'the tenant of the credentials',
  }),
  credentials: serverOptions.credentials,
  home: homeOption,
};

export function openTenant(options: TenantChoice, io: CommandIo): AdminClient {
  return openClient({ ...options, owner: undefined }, io, options['tsg-id']);
}

/** Sends a request; a refusal becomes a Failure. */
export async function send(client: AdminClient, request: ApiRequest): Promise<AdminRecord> {
  return (await refusalAsFailure(client.request(request))).body as AdminRecord;
}

/** A record of the Admin API. */
export interface AdminRecord {
  readonly id: string;
  readonly name: string;
  readonly [field: string]: unknown;
}

const pageSize = 100;

/** All items of a collection, newest first. */
export async function listItems(
  client: AdminClient,
  path: string,
  filter: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<AdminRecord[]> {
  const items: AdminRecord[] = [];
  for (let page = 0; ; page += 1) {
    const place = { page_size: String(pageSize), current_page: String(page) };
    const query = new URLSearchParams({ ...filter, ...place });
    const { data = [] } = (await send(client, {
      method: 'GET',
      path: `${path}?${query}`,
      signal,
    })) as { readonly data?: readonly AdminRecord[] };
    items.push(...data);
    if (data.length < pageSize) return items;
  }
}

/** @throws Failure (invalid input) when no item has the name or id */
export async function findItem(
  client: AdminClient,
  path: string,
  word: string,
  signal: AbortSignal,
): Promise<AdminRecord> {
  if (isUuid(word)) return send(client, { method: 'GET', path: `${path}/${word}`, signal });
  const items = await listItems(client, path, { search: word }, signal);
  const found = items.find(({ name }) => name === word);
  if (found !== undefined) return found;
  const known = (await listItems(client, path, {}, signal)).map(({ name }) => name);
  const hint = didYouMean(word, known) ?? 'list shows what exists';
  throw new Failure('invalidInput', `${quoted(word)} does not exist: ${hint}`);
}

/** @throws Failure (invalid input) for options and words that the action does not accept, or lacks */
export function requireFitting(
  command: string,
  action: { readonly name: string; readonly accepts: readonly string[] },
  given: Readonly<Record<string, unknown>>,
): void {
  const isGiven = (name: string): boolean =>
    given[name] !== undefined && !(Array.isArray(given[name]) && given[name].length === 0);
  const extra = Object.keys(given).find((name) => isGiven(name) && !action.accepts.includes(name));
  if (extra === undefined) return;
  const word = extra === 'name' || extra === 'to' ? `a ${extra}` : `--${extra}`;
  throw new Failure('invalidInput', `${command} ${action.name} does not accept ${word}; remove it`);
}

/** @throws Failure (invalid input) when the word is missing */
export function requireWord(line: string, word: string | undefined): string {
  if (word !== undefined) return word;
  throw new Failure('invalidInput', `a name is missing: gatewright ${line}`);
}
