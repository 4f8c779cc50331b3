/** Knows the service_accounts table: who may ask for access tokens, by client id and hashed secret. */
import type { Db } from '../connection/db.ts';

export interface ServiceAccountRow {
  id: string;
  tsg_id: string;
  name: string;
  client_id: string;
  secret_hmac: Buffer;
  pepper_id: string;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    service_accounts: ServiceAccountRow;
  }
}

/** Throws errno 1062 when the client id, or the name within the TSG, is taken. */
export async function insert(tx: Db, row: ServiceAccountRow): Promise<void> {
  await tx.insertInto('service_accounts').values(row).execute();
}

/** Not filtered by tenant, because the client id is what says the tenant. */
export function findByClientId(db: Db, clientId: string): Promise<ServiceAccountRow | undefined> {
  return db
    .selectFrom('service_accounts')
    .selectAll()
    .where('client_id', '=', clientId)
    .executeTakeFirst();
}

/** Not filtered by tenant: a service account may act in other TSGs than its own. */
export function findById(db: Db, id: string): Promise<ServiceAccountRow | undefined> {
  return db.selectFrom('service_accounts').selectAll().where('id', '=', id).executeTakeFirst();
}
