/** Table functions for service_accounts: clients that may request access tokens. Secrets are stored as HMACs. */
import { rows } from '../rows/rows.ts';

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

const table = rows('service_accounts');

/** Throws errno 1062 when the client id exists, or the name exists in the TSG. */
export const { insert } = table;

/** Not restricted to a tenant, because the client id determines the tenant. */
export const findByClientId = table.findBy('client_id');

/** Not restricted to a tenant: a service account may act in TSGs other than its own. */
export const findById = table.findBy('id');
