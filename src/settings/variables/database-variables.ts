/** Declares the environment variables of the database connection and its timeouts. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

const databaseUrl = forms.line(
  'mysql://USER:PASSWORD@HOST:PORT/NAME without query options (percent-encode special characters)',
  '/run/secrets/database-url',
);
const password = forms.line('a text on one line, or a path to a file', '/run/secrets/password');
const userName = forms.line('a user name', 'gatewright', 128);
const schemaName = forms.line('a database name', 'gatewright', 64);

export const databaseVariables = {
  DB_HOST: optional(
    'Database',
    forms.host,
    'Database server. Without DB_HOST, DB_SOCKET and DB_URL the embedded server is used.',
  ),
  DB_PORT: optional('Database', forms.portNumber, 'Port of the database server. When unset: 3306.'),
  DB_SOCKET: optional(
    'Database',
    forms.line('a path', '/run/mysqld/mysqld.sock', 107),
    'Unix socket of the server, instead of DB_HOST.',
  ),
  DB_URL: optional(
    'Database',
    databaseUrl,
    'Host, port, user, password and name in one URL, instead of DB_HOST.',
    { secret: true },
  ),
  DB_USER: optional('Database', userName, 'Database user.'),
  DB_PASS: optional(
    'Database',
    password,
    'Password of DB_USER. A file is read again for each new connection.',
    { secret: true },
  ),
  DB_NAME: optional('Database', schemaName, 'Name of the database (schema).'),
  DB_POOL_SIZE: defaulted(
    'Database',
    forms.integer(1, 1000, '12'),
    '12',
    'Maximum number of connections of each process.',
  ),
  GATEWRIGHT_DB_POOL_WAIT_SECONDS: defaulted(
    'Database',
    forms.integer(1, 600, '5'),
    '5',
    'Seconds that a request waits for a free connection before it fails with 503.',
  ),
  GATEWRIGHT_DB_STATEMENT_SECONDS: defaulted(
    'Database',
    forms.integer(1, 600, '10'),
    '10',
    'Timeout of one statement in seconds; at most a third of it may be spent waiting for a lock.',
  ),
  GATEWRIGHT_DB_CONNECT_TIMEOUT_SECONDS: defaulted(
    'Database',
    forms.integer(1, 60, '2'),
    '2',
    'Timeout of each step of a new connection in seconds.',
  ),
  GATEWRIGHT_DB_START_WAIT_SECONDS: defaulted(
    'Database',
    forms.integer(0, 86_400, '240'),
    '240',
    'Seconds that `serve` waits at startup for a database that is not reachable yet.',
  ),
  DB_SSL: defaulted(
    'Database',
    forms.tlsMode,
    'PREFERRED',
    'How connections are encrypted and verified.',
  ),
  DB_SSL_CA: optional(
    'Database',
    forms.pem,
    'Certificate authorities to trust with VERIFY_CA and VERIFY_IDENTITY, instead of the public ones.',
    { file: true },
  ),
  DB_SSL_CERT: optional('Database', forms.pem, 'Client certificate; needs DB_SSL_KEY.', {
    file: true,
  }),
  DB_SSL_KEY: optional('Database', forms.pem, 'Private key of DB_SSL_CERT, without passphrase.', {
    secret: true,
  }),
  DB_READER_HOST: optional('Database', forms.host, 'Replica that may serve reads.'),
  DB_READER_PORT: optional(
    'Database',
    forms.portNumber,
    'Port of the replica. When unset: port of the writer.',
  ),
  DB_READER_USER: optional(
    'Database',
    userName,
    'User on the replica. When unset: user of the writer.',
  ),
  DB_READER_PASS: optional(
    'Database',
    password,
    'Password on the replica. When unset: password of the writer.',
    { secret: true },
  ),
  MYSQL_WRITER_HADR_MODE: defaulted(
    'Database',
    forms.toggle,
    'OFF',
    'ON: reads use DB_READER_HOST while the writer is down.',
  ),
};
