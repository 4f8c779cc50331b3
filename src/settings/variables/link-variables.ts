/** Declares the environment variables of the link between a control plane and gateways without a database. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

const clientNames: forms.Form<string[]> = {
  ...forms.hostList,
  schema: forms.hostList.schema
    .transform((names) => names.map((name) => name.toLowerCase()))
    .refine((names) => names.length > 0),
  expected: 'at least one DNS name, separated by commas',
  example: 'gatewright-data-plane',
};

const controlPlane: forms.Form<URL> = {
  ...forms.webAddress,
  schema: forms.webAddress.schema.refine(
    ({ protocol, pathname }) => protocol === 'https:' && pathname === '/',
  ),
  expected: 'an address that begins with https://, without credentials, path and query',
  example: 'https://gatewright-control.example.com:8443',
};

const regionName = forms.pattern(
  /^[a-z0-9][a-z0-9-]{0,62}$/,
  'at most 63 lower-case letters, digits and hyphens',
  'eu-west',
);

export const linkVariables = {
  GATEWRIGHT_REGION: optional(
    'Link',
    regionName,
    'Gateways of a region: its name. The DB_ variables then name a database of the region alone, and GATEWRIGHT_LINK_URL its home.',
  ),
  GATEWRIGHT_LINK_PORT: optional(
    'Link',
    { ...forms.listenPort, example: '8443' },
    'Control plane: port at which gateways without a database connect, with mutual TLS. When unset: none may connect. 0 selects a free port.',
  ),
  GATEWRIGHT_LINK_URL: optional(
    'Link',
    controlPlane,
    'Gateway without a database, or of a region: https address of the control plane, without a path. Without GATEWRIGHT_REGION none of DB_HOST, DB_SOCKET and DB_URL may be set.',
  ),
  GATEWRIGHT_LINK_CA: optional(
    'Link',
    forms.pem,
    'Certificate authorities that issue the certificates of the other side. Needed with GATEWRIGHT_LINK_PORT and GATEWRIGHT_LINK_URL.',
    { file: true },
  ),
  GATEWRIGHT_LINK_CERT: optional(
    'Link',
    forms.pem,
    'Certificate of this process, followed by intermediate ones. A file is read again for new connections.',
    { file: true },
  ),
  GATEWRIGHT_LINK_KEY: optional(
    'Link',
    forms.pem,
    'Private key of GATEWRIGHT_LINK_CERT, without passphrase.',
    { secret: true },
  ),
  GATEWRIGHT_LINK_CLIENTS: defaulted(
    'Link',
    clientNames,
    'gatewright-data-plane',
    "Control plane: DNS names of which a gateway's certificate must contain one.",
  ),
};
