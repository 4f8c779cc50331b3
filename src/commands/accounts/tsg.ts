/** Defines the `tsg` command, which manages the tenants below a tenant. */
import { randomUUID } from 'node:crypto';
import type { Ending } from '../../failure.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { optionalWord, outputForm, requiredChoice, textOption } from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';
import {
  findItem,
  listItems,
  openTenant,
  requireFitting,
  requireWord,
  send,
  type TenantChoice,
  tenantOptions,
} from './account-options.ts';

const path = '/v2/tsgs';
const actions = ['list', 'create', 'rename', 'delete'] as const;
type Action = (typeof actions)[number];

interface Options extends TenantChoice {
  readonly action: Action;
  readonly name: string | undefined;
  readonly to: string | undefined;
  readonly description: string | undefined;
  readonly output: 'text' | 'json';
}

const accepted: Readonly<Record<Action, readonly string[]>> = {
  list: [],
  create: ['name', 'description'],
  rename: ['name', 'to'],
  delete: ['name'],
};

export const tsg: Command<Options> = {
  examples: [
    ['gatewright tsg create subsidiary', 'A tenant below that of the credentials'],
    ['gatewright tsg list', 'The tenants below, with their TSG ids'],
    ['gatewright tsg rename subsidiary emea', 'Another name; the TSG id stays'],
    ['gatewright tsg delete emea', 'Delete an empty tenant'],
  ],
  options: {
    action: requiredChoice(actions, actions.join(', ')),
    name: optionalWord('Name or id of the tenant; needed by all actions except list'),
    to: optionalWord('rename: the new name'),
    description: textOption('TEXT', {
      describe: 'create: purpose of the tenant',
      fallback: 'none',
    }),
    output: outputForm(['text', 'json']),
    ...tenantOptions,
  },
  run: async (options, io) => {
    const { action, name, to, description } = options;
    requireFitting('tsg', { name: action, accepts: accepted[action] }, { name, to, description });
    await using client = openTenant(options, io);
    return await run(client, options, io);
  },
};

async function run(client: AdminClient, options: Options, io: CommandIo): Promise<Ending> {
  const { action, description, output } = options;
  const { stdout, signal } = io;
  if (action === 'list') return list(client, options, io);
  const name = requireWord(`tsg ${action} NAME`, options.name);
  if (action === 'create') {
    const body = description === undefined ? { name } : { name, description };
    const request = { method: 'POST', path, body, idempotencyKey: randomUUID(), signal } as const;
    const { id, tsg_id: tsgId } = await send(client, request);
    if (output === 'json') stdout.writeJson({ id, name, tsgId });
    else stdout.write(`tenant ${tsgId} is created: ${name}\n`);
    return 'success';
  }
  const to = action === 'rename' ? requireWord('tsg rename NAME NEW', options.to) : name;
  const { id, tsg_id: tsgId } = await findItem(client, path, name, signal);
  const at = { path: `${path}/${id}`, signal };
  if (action === 'rename') await send(client, { ...at, method: 'PUT', body: { name: to } });
  else await send(client, { ...at, method: 'DELETE' });
  const outcome = action === 'rename' ? `is renamed: ${to}` : 'is deleted';
  if (output === 'json') stdout.writeJson({ id, name: to, tsgId, action });
  else stdout.write(`tenant ${tsgId} ${outcome}\n`);
  return 'success';
}

async function list(
  client: AdminClient,
  { output }: Options,
  { stdout, stderr, signal }: CommandIo,
): Promise<Ending> {
  const tenants = await listItems(client, path, {}, signal);
  if (output === 'json') stdout.writeJson({ tenants });
  else if (tenants.length === 0) stderr.write('no child tenants found\n');
  else {
    const rows = tenants.map(({ name, tsg_id: tsgId, description, id }) => [
      name,
      String(tsgId),
      id,
      String(description ?? '-'),
    ]);
    stdout.write(formatTable([['NAME', 'TSG ID', 'ID', 'DESCRIPTION'], ...rows]));
  }
  return 'success';
}
