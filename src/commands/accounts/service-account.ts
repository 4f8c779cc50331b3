/** Defines the `service-account` command, which manages the clients of the Admin API. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Ending, Failure } from '../../failure.ts';
import { accountNamePattern, assignableRoles } from '../../model/people/service-account.ts';
import { Secret } from '../../secret.ts';
import type { AdminClient, ApiRequest } from '../../sync/server/client.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { createCredentialsFile, credentialsText } from '../shared/credentials-file.ts';
import {
  choicesOption,
  durationOption,
  optionalWord,
  outputForm,
  requiredChoice,
  textOption,
} from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';
import {
  type AdminRecord,
  findItem,
  listItems,
  openTenant,
  requireFitting,
  requireWord,
  send,
  type TenantChoice,
  tenantOptions,
} from './account-options.ts';

const path = '/v2/service-accounts';
const actions = [
  'list',
  'get',
  'create',
  'update',
  'rotate',
  'disable',
  'enable',
  'delete',
] as const;
type Action = (typeof actions)[number];

interface Options extends TenantChoice {
  readonly action: Action;
  readonly name: string | undefined;
  readonly roles: readonly string[];
  readonly workspace: string | undefined;
  readonly description: string | undefined;
  readonly file: string | undefined;
  /** Seconds. */
  readonly overlap: number | undefined;
  readonly output: 'text' | 'json';
}

/** Options that each action accepts in addition to those of the tenant. */
const accepted: Readonly<Record<Action, readonly string[]>> = {
  list: ['workspace'],
  get: ['name'],
  create: ['name', 'roles', 'workspace', 'description', 'file'],
  update: ['name', 'roles', 'description'],
  rotate: ['name', 'file', 'overlap'],
  disable: ['name'],
  enable: ['name'],
  delete: ['name'],
};

export const serviceAccount: Command<Options> = {
  examples: [
    [
      'gatewright service-account create ci --roles resource_admin --file ci.json',
      'A new account; its credentials are written to ci.json, and shown nowhere else',
    ],
    [
      'gatewright service-account rotate ci --overlap 24h --file ci-2.json',
      'A new secret; the previous one works for another day',
    ],
    ['gatewright service-account disable ci', 'Refuse its secret and its tokens'],
    [
      'gatewright service-account create ops --tsg-id 1234567890 --roles identity_admin --file -',
      'An account of a child tenant; print the credentials, for a secret store',
    ],
  ],
  options: {
    action: requiredChoice(actions, actions.join(', ')),
    name: optionalWord('Name or id of the account; needed by all actions except list'),
    roles: choicesOption(assignableRoles, 'ROLES', {
      describe: 'create, update: roles, separated by commas',
      fallback: 'none; create needs them',
    }),
    workspace: textOption('NAME', {
      describe: 'create, list: workspace of the account, by slug or id',
      fallback: 'the whole tenant',
    }),
    description: textOption('TEXT', {
      describe: 'create, update: purpose of the account',
      fallback: 'none, or as it was',
    }),
    file: textOption('FILE', {
      describe: 'create, rotate: new file for the credentials (mode 0600), or - to print them',
      fallback: 'none; required',
    }),
    overlap: durationOption(
      { min: 0, max: 365 * 86_400, example: '24h' },
      {
        describe:
          'rotate: how long the previous secret works; 0s ends it at once, else 30m or more',
        fallback: 'that of the account, else 30m',
      },
    ),
    output: outputForm(['text', 'json']),
    ...tenantOptions,
  },
  run: async (options, io) => {
    const { action, name, roles, workspace, description, file, overlap } = options;
    const given = { name, roles, workspace, description, file, overlap };
    requireFitting('service-account', { name: action, accepts: accepted[action] }, given);
    await using client = openTenant(options, io);
    return await run(client, options, io);
  },
};

async function run(client: AdminClient, options: Options, io: CommandIo): Promise<Ending> {
  const { action, roles, description } = options;
  if (action === 'list') return list(client, options, io);
  const name = requireWord(`service-account ${action} NAME`, options.name);
  if (action === 'create') return create(client, name, options, io);
  const account = await findItem(client, path, name, io.signal);
  switch (action) {
    case 'get':
      return show(account, options, io);
    case 'rotate':
      return rotate(client, account, options, io);
    case 'delete':
      return change(client, account, { method: 'DELETE' }, 'is deleted', options, io);
    case 'disable':
    case 'enable': {
      const status = action === 'enable' ? 'active' : 'disabled';
      return change(
        client,
        account,
        { method: 'PUT', body: { status } },
        `is ${status}`,
        options,
        io,
      );
    }
    case 'update': {
      const body = {
        ...(roles.length === 0 ? {} : { roles }),
        ...(description === undefined ? {} : { description }),
      };
      if (Object.keys(body).length === 0) {
        throw new Failure('invalidInput', 'nothing to update: give --roles or --description');
      }
      return change(client, account, { method: 'PUT', body }, 'is updated', options, io);
    }
  }
}

async function list(
  client: AdminClient,
  { workspace, output }: Options,
  { stdout, stderr, signal }: CommandIo,
): Promise<Ending> {
  const filter: Record<string, string> = workspace === undefined ? {} : { workspace_id: workspace };
  const accounts = await listItems(client, path, filter, signal);
  if (output === 'json') stdout.writeJson({ serviceAccounts: accounts });
  else if (accounts.length === 0) stderr.write('no service accounts found\n');
  else {
    const rows = accounts.map(({ name, roles, status, workspace_id: place, id }) => [
      name,
      (roles as string[]).join(','),
      String(status),
      String(place ?? '-'),
      id,
    ]);
    stdout.write(formatTable([['NAME', 'ROLES', 'STATUS', 'WORKSPACE', 'ID'], ...rows]));
  }
  return 'success';
}

function show(account: AdminRecord, { output }: Options, { stdout }: CommandIo): Ending {
  if (output === 'json') stdout.writeJson(account);
  else {
    const rows = Object.entries(account).map(([field, value]) => [
      field,
      Array.isArray(value) ? value.join(', ') : String(value ?? '-'),
    ]);
    stdout.write(formatTable(rows));
  }
  return 'success';
}

async function change(
  client: AdminClient,
  account: AdminRecord,
  request: Pick<ApiRequest, 'method' | 'body'>,
  outcome: string,
  { output }: Options,
  { stdout, signal }: CommandIo,
): Promise<Ending> {
  await send(client, { ...request, path: `${path}/${account.id}`, signal });
  const { id, name } = account;
  if (output === 'json') stdout.writeJson({ id, name, action: request.method });
  else stdout.write(`service account ${name} ${outcome}\n`);
  return 'success';
}

async function create(
  client: AdminClient,
  name: string,
  options: Options,
  io: CommandIo,
): Promise<Ending> {
  const { roles, workspace, description } = options;
  if (!accountNamePattern.test(name)) {
    const form = '1 to 63 of a-z, 0-9 and inner -, such as ci';
    throw new Failure('invalidInput', `NAME must be ${form}`);
  }
  if (roles.length === 0) {
    throw new Failure('invalidInput', `--roles is needed: ${assignableRoles.join(', ')}`);
  }
  const body = {
    name,
    roles,
    ...(workspace === undefined ? {} : { workspace_id: workspace }),
    ...(description === undefined ? {} : { description }),
  };
  return deliver(client, options, io, async () => {
    const made = await send(client, post(path, body, io));
    return { clientId: String(made.client_id), secret: secretOf(made), until: null };
  });
}

async function rotate(
  client: AdminClient,
  account: AdminRecord,
  options: Options,
  io: CommandIo,
): Promise<Ending> {
  const { overlap } = options;
  const body = overlap === undefined ? {} : { key_transition_period_ms: overlap * 1000 };
  return deliver(client, options, io, async () => {
    const made = await send(client, post(`${path}/${account.id}/rotate`, body, io));
    const until = made.secret_transition_expires_at;
    return {
      clientId: String(account.client_id),
      secret: secretOf(made),
      until: until === null ? null : String(until),
    };
  });
}

/** A repeated request returns the same secret, so a lost response loses none. */
function post(to: string, body: object, { signal }: CommandIo): ApiRequest {
  return { method: 'POST', path: to, body, idempotencyKey: randomUUID(), signal };
}

function secretOf({ client_secret: value }: AdminRecord): Secret {
  return new Secret(String(value), 'service-account');
}

interface NewSecret {
  readonly clientId: string;
  readonly secret: Secret;
  /** End of the previous secret. */
  readonly until: string | null;
}

/** Creates the file before the secret exists, so that none is made that cannot be stored. */
async function deliver(
  client: AdminClient,
  { file, output }: Options,
  { stdout, cwd }: CommandIo,
  make: () => Promise<NewSecret>,
): Promise<Ending> {
  if (file === undefined) {
    const message = '--file is needed: a new file for the credentials, or - to print them';
    throw new Failure('invalidInput', message);
  }
  const textOf = ({ clientId, secret }: NewSecret): string =>
    credentialsText(client.address, { tsgId: client.tsgId, clientId, clientSecret: secret });
  if (file === '-') {
    stdout.writeExact(textOf(await make()));
    return 'success';
  }
  const target = resolve(cwd, file);
  await using created = await createCredentialsFile(target);
  let made: NewSecret;
  try {
    made = await make();
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  }
  await created.write(textOf(made));
  const { clientId, until } = made;
  if (output === 'json')
    stdout.writeJson({ clientId, credentialsFile: target, previousUntil: until });
  else {
    const end = until === null ? '' : `the previous secret works until ${until}\n`;
    stdout.write(`service account ${clientId}\ncredentials in ${target}\n${end}`);
  }
  return 'success';
}
