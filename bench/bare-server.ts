/** Serves the lower bound for the Admin API: Fastify alone, with the same statements and responses. */
import { createHmac, createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import { createPool, type PoolConnection } from 'mysql2/promise';
import { idToBytes, newId } from '../src/model/wire/ids.ts';

const pool = createPool({
  host: '127.0.0.1',
  port: Number(process.argv[2]),
  user: process.argv[3],
  password: process.argv[4],
  database: process.argv[5],
  connectionLimit: 12,
});
const pepper = createSecretKey(Buffer.alloc(32, 1));
const app = Fastify();

interface Caller {
  readonly organisation_id: string;
  readonly id: string;
}

/** Looks a key up by its hash. The hash differs from the product's but costs the same to compute. */
async function authenticate(key: unknown, hash: unknown): Promise<Caller> {
  createHmac('sha256', pepper).update(String(key)).digest();
  const [rows] = await pool.query(
    `select api_keys.* from api_key_hashes as known inner join api_keys
     on api_keys.organisation_id = known.organisation_id and api_keys.id = known.api_key_id
     where known.hash = ? and (known.valid_until is null or known.valid_until > ?)`,
    [Buffer.from(String(hash), 'hex'), Date.now()],
  );
  return (rows as Caller[])[0]!;
}

async function audited<T>(
  caller: Caller,
  action: string,
  work: (tx: PoolConnection) => Promise<readonly [id: string, answer: T]>,
): Promise<T> {
  const tx = await pool.getConnection();
  try {
    await tx.query('begin');
    const [id, answer] = await work(tx);
    await tx.query(
      `insert into audit_log (organisation_id, at, id, workspace_id, actor_kind, actor_id, action,
       resource_kind, resource_id, request_id, changes) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        caller.organisation_id,
        Date.now(),
        idToBytes(newId()),
        null,
        'api-key',
        caller.id,
        action,
        'Config',
        id,
        randomUUID(),
        JSON.stringify({ fields: ['name'] }),
      ],
    );
    const mark = randomBytes(16);
    await tx.query(
      `insert into snapshot_marks (organisation_id, slot, mark) values (?, ?, ?)
       on duplicate key update mark = ?`,
      [caller.organisation_id, mark[0]! % 16, mark, mark],
    );
    await tx.query('commit');
    return answer;
  } finally {
    tx.release();
  }
}

app.get('/v1/configs/:id', async (request) => {
  const caller = await authenticate(request.headers['x-gateway-api-key'], request.headers.hash);
  const { id } = request.params as { id: string };
  const [rows] = await pool.query('select * from configs where organisation_id = ? and id = ?', [
    caller.organisation_id,
    id,
  ]);
  return (rows as object[])[0];
});

app.put('/v1/configs/:id', async (request) => {
  const caller = await authenticate(request.headers['x-gateway-api-key'], request.headers.hash);
  const { id } = request.params as { id: string };
  const { name } = request.body as { name: string };
  const key = [caller.organisation_id, id];
  return audited(caller, 'update', async (tx) => {
    const [rows] = await tx.query(
      'select * from configs where organisation_id = ? and id = ? for update',
      key,
    );
    await tx.query(
      `update configs set name = ?, updated_by = ?, last_updated_at = ?, version = version + 1
       where organisation_id = ? and id = ?`,
      [name, caller.id, Date.now(), ...key],
    );
    await tx.query(
      `select * from managed_resources where organisation_id = ? and kind = 'Config'
       and resource_id = ? for update`,
      key,
    );
    return [id, { ...(rows as object[])[0], name }] as const;
  });
});

app.post('/v1/api-keys/organisation/service', async (request) => {
  const caller = await authenticate(request.headers['x-gateway-api-key'], request.headers.hash);
  const { name, scopes } = request.body as { name: string; scopes: string[] };
  const id = newId();
  const key = randomUUID();
  const now = Date.now();
  return audited(caller, 'create', async (tx) => {
    await tx.query('select * from organisations where id = ?', [caller.organisation_id]);
    await tx.query(
      `insert into api_keys (organisation_id, id, type, name, key_mask, status, creation_mode, scopes,
       created_by, created_at, last_updated_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        caller.organisation_id,
        id,
        'organisation-service',
        name,
        'ab*****xyz',
        'active',
        'api',
        JSON.stringify(scopes),
        caller.id,
        now,
        now,
      ],
    );
    await tx.query(
      `insert into api_key_hashes (hash, pepper_id, organisation_id, api_key_id, valid_from)
       values (?, ?, ?, ?, ?)`,
      [
        createHmac('sha256', pepper).update(key).digest(),
        '00000000',
        caller.organisation_id,
        id,
        now,
      ],
    );
    return [id, { id, key, object: 'api-key' }] as const;
  });
});

const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${url}\n`);
