/** Combines the DB_ variables to database endpoints with TLS, and validates them. */
import { isIP } from 'node:net';
import { Secret } from '../../secret.ts';
import type { SettingText } from '../reading/sources.ts';
import { host } from '../variables/forms.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';
import { checkAuthorities, checkClientCertificate } from './certificates.ts';

export interface DatabaseInput {
  readonly values: SettingValues;
  readonly given: ReadonlyMap<SettingName, SettingText>;
  /** Settings that are set but unreadable; their faults are already reported. */
  readonly unread: ReadonlySet<SettingName>;
  /** Settings that are set but malformed and count as unset; their faults are already reported. */
  readonly wrong: ReadonlySet<SettingName>;
  /** Milliseconds since the epoch, for checking certificate dates. */
  readonly now: number;
  readonly faults: string[];
  readonly warnings: string[];
}

const defaultPort = 3306;
const meaningless = [
  'DB_PORT',
  'DB_USER',
  'DB_PASS',
  'DB_NAME',
  'DB_SSL',
  'DB_SSL_CA',
  'DB_SSL_CERT',
  'DB_SSL_KEY',
  'DB_READER_HOST',
] as const;

/** Both endpoints, null if not configured. Appends faults and warnings to the lists of the input. */
export function readDatabases(input: DatabaseInput) {
  const { values, given, unread, faults } = input;
  const url =
    values.DB_URL === undefined ? null : readUrl(values.DB_URL, given.get('DB_URL')!.origin, input);
  const placed = ['DB_HOST', 'DB_SOCKET', 'DB_URL'] as const;
  const places = placed.filter((name) => given.has(name));
  if (places.length === 0) {
    if (unread.has('DB_URL')) return { database: null, databaseReader: null };
    const lost = meaningless.filter((name) => given.has(name));
    if (lost.length > 0) {
      const what = `${lost.join(', ')} would have no effect`;
      faults.push(`${what}: none of DB_HOST, DB_SOCKET and DB_URL is set. Set one`);
    }
    return { database: null, databaseReader: null };
  }
  const tls = readTls(input);
  const database = {
    host: values.DB_HOST ?? url?.host ?? 'localhost',
    port: values.DB_PORT ?? url?.port ?? defaultPort,
    socketPath: values.DB_SOCKET ?? null,
    user: required(input, 'DB_USER', url),
    password: secretOf(input, 'DB_PASS') ?? url?.password,
    name: required(input, 'DB_NAME', url),
    poolSize: values.DB_POOL_SIZE,
    poolWaitSeconds: values.GATEWRIGHT_DB_POOL_WAIT_SECONDS,
    statementSeconds: values.GATEWRIGHT_DB_STATEMENT_SECONDS,
    connectTimeoutSeconds: values.GATEWRIGHT_DB_CONNECT_TIMEOUT_SECONDS,
    tls,
  };
  refuseTwice(input, places, url);
  checkIdentity(input, values.DB_SOCKET === undefined ? database.host : null);
  const readerHost = values.DB_READER_HOST;
  if (readerHost === undefined) {
    checkReaderAlone(input);
    return { database, databaseReader: null };
  }
  checkIdentity(input, readerHost);
  if (!values.MYSQL_WRITER_HADR_MODE && !input.wrong.has('MYSQL_WRITER_HADR_MODE')) {
    input.warnings.push('DB_READER_HOST is not used: set MYSQL_WRITER_HADR_MODE=ON, or remove it');
  }
  const databaseReader = {
    ...database,
    host: readerHost,
    port: values.DB_READER_PORT ?? database.port,
    socketPath: null,
    user: values.DB_READER_USER ?? database.user,
    password: secretOf(input, 'DB_READER_PASS') ?? database.password,
  };
  return { database, databaseReader };
}

function checkReaderAlone({ values, given, faults }: DatabaseInput): void {
  // A malformed value is already reported.
  if (given.has('DB_READER_HOST')) return;
  const lost = (['DB_READER_PORT', 'DB_READER_USER', 'DB_READER_PASS'] as const).filter((name) =>
    given.has(name),
  );
  if (lost.length > 0) {
    faults.push(`${lost.join(', ')} would have no effect: set DB_READER_HOST, or remove it`);
  }
  if (values.MYSQL_WRITER_HADR_MODE) {
    faults.push('MYSQL_WRITER_HADR_MODE is ON, but no replica is configured: set DB_READER_HOST');
  }
}

function required(input: DatabaseInput, name: 'DB_USER' | 'DB_NAME', url: UrlParts | null): string {
  const value = input.values[name] ?? (name === 'DB_USER' ? url?.user : url?.name);
  if (value !== undefined) return value;
  // Malformed values are already reported, and an unreadable URL may contain the missing ones.
  const mayBeInUrl = url === null && (input.given.has('DB_URL') || input.unread.has('DB_URL'));
  if (!input.given.has(name) && !mayBeInUrl) {
    const where = url === null ? '' : ', or write it into DB_URL (mysql://USER:PASSWORD@HOST/NAME)';
    input.faults.push(`${name} is required with an external database: set it${where}`);
  }
  return '';
}

function secretOf(input: DatabaseInput, name: 'DB_PASS' | 'DB_READER_PASS'): Secret | undefined {
  const value = input.values[name];
  return value === undefined ? undefined : new Secret(value, input.given.get(name)!.origin);
}

interface UrlParts {
  readonly host: string;
  readonly port?: number;
  readonly user?: string;
  readonly password?: Secret;
  readonly name?: string;
}

/** Query options of other drivers, and the variable with the same meaning here. */
const queryOptions: Record<string, SettingName> = {
  ssl: 'DB_SSL',
  sslmode: 'DB_SSL',
  usessl: 'DB_SSL',
  tls: 'DB_SSL',
  sslca: 'DB_SSL_CA',
  sslcert: 'DB_SSL_CERT',
  sslkey: 'DB_SSL_KEY',
  socket: 'DB_SOCKET',
  socketpath: 'DB_SOCKET',
  unixsocket: 'DB_SOCKET',
  connectionlimit: 'DB_POOL_SIZE',
  poolsize: 'DB_POOL_SIZE',
};

/** Matches a URL up to its port; captures the part before the port. */
const lastPort = /^(\w+:\/\/[^/?#]*):[^/?#:\]@]*(?=[/?#]|$)/;

/** Does not suggest a variable that conflicts with the URL. */
function insteadOf(option: string, { given }: DatabaseInput): string {
  const variable = queryOptions[option.replaceAll(/[_-]/g, '').toLowerCase()];
  if (variable === undefined) return 'remove it';
  if (variable === 'DB_SOCKET') return 'set DB_SOCKET instead of DB_URL, with DB_USER and DB_NAME';
  return given.has(variable) ? `remove it, ${variable} is set` : `set ${variable} instead`;
}

/** Parsed here, because the driver ignores `?ssl-mode=REQUIRED` and connects without encryption. */
function readUrl(text: string, origin: string, input: DatabaseInput): UrlParts | null {
  const { faults } = input;
  const wrong = (why: string): null => {
    faults.push(`DB_URL (not shown) ${why}; expected mysql://USER:PASSWORD@HOST:PORT/NAME`);
    return null;
  };
  if (!URL.canParse(text)) {
    const isPort = URL.canParse(text.replace(lastPort, '$1'));
    return wrong(
      isPort
        ? 'has no usable port, which is a number from 1 to 65535 (percent-encode / ? # of a password)'
        : 'is not a URL (percent-encode special characters)',
    );
  }
  const url = new URL(text);
  if (!/^(?:mysql|mariadb):$/.test(url.protocol)) return wrong('does not begin with mysql://');
  const parsedHost = host.schema.safeParse(url.hostname);
  if (!parsedHost.success) return wrong('names no usable host');
  if (url.port === '0') return wrong('has port 0, on which no server listens');
  for (const option of url.searchParams.keys()) {
    const quotedOption = /^[\w-]{1,40}$/.test(option) ? `"${option}" ` : '';
    const fix = insteadOf(option, input);
    faults.push(`DB_URL has the query option ${quotedOption}which is not supported: ${fix}`);
  }
  if (url.hash !== '') return wrong('has a "#" part (write # as %23)');
  try {
    const [user, password, name] = [url.username, url.password, url.pathname.slice(1)].map(
      (part) => (part === '' ? undefined : decodeURIComponent(part)),
    );
    if (name?.includes('/')) return wrong('has a "/" in the database name');
    return {
      host: parsedHost.data,
      ...(url.port === '' ? {} : { port: Number(url.port) }),
      ...(user === undefined ? {} : { user }),
      ...(name === undefined ? {} : { name }),
      ...(password === undefined ? {} : { password: new Secret(password, origin) }),
    };
  } catch {
    return wrong('has a "%" that begins no percent-encoded character (write % as %25)');
  }
}

/** Reports all parts that are set twice in one sentence. */
function refuseTwice(
  { given, faults }: DatabaseInput,
  places: readonly SettingName[],
  url: UrlParts | null,
): void {
  const parts = [
    ['DB_PORT', url?.port],
    ['DB_USER', url?.user],
    ['DB_PASS', url?.password],
    ['DB_NAME', url?.name],
  ] as const;
  const twice = parts
    .filter(([name, inUrl]) => inUrl !== undefined && given.has(name))
    .map(([name]) => name);
  if (places.length > 1) {
    const too =
      twice.length === 0
        ? ''
        : `, and ${twice.join(', ')} with ${twice.length === 1 ? 'it' : 'them'}`;
    const what = places.length === 2 ? 'both set' : 'all set';
    faults.push(`${places.join(' and ')} are ${what}${too}: keep one`);
  } else if (twice.length > 0) {
    const [verb, them] = twice.length === 1 ? ['is', 'it'] : ['are', 'them'];
    faults.push(`${twice.join(', ')} ${verb} set, and DB_URL contains ${them} too: remove one`);
  }
}

function readTls(input: DatabaseInput) {
  const { values, given, now, faults, warnings } = input;
  const { DB_SSL: mode, DB_SSL_CA: ca, DB_SSL_CERT: cert, DB_SSL_KEY: key } = values;
  if (given.has('DB_SSL_CERT') !== given.has('DB_SSL_KEY')) {
    const [there, absent] = given.has('DB_SSL_CERT')
      ? ['DB_SSL_CERT', 'DB_SSL_KEY']
      : ['DB_SSL_KEY', 'DB_SSL_CERT'];
    faults.push(`${there} is set without ${absent}: set both for a client certificate, or neither`);
  }
  const verdicts = [];
  if (ca !== undefined) verdicts.push(checkAuthorities('DB_SSL_CA', ca, now));
  if (cert !== undefined && key !== undefined) {
    verdicts.push(
      checkClientCertificate({ cert: 'DB_SSL_CERT', key: 'DB_SSL_KEY' }, { cert, key }, now),
    );
  }
  for (const verdict of verdicts) {
    faults.push(...verdict.faults);
    warnings.push(...verdict.warnings);
  }
  // The mode of a malformed DB_SSL is unknown; it may use the certificates.
  const verifies = mode === 'VERIFY_CA' || mode === 'VERIFY_IDENTITY' || input.wrong.has('DB_SSL');
  if (ca !== undefined && !verifies) {
    const fix = 'set DB_SSL to VERIFY_CA or VERIFY_IDENTITY to have the server verified with it';
    warnings.push(`DB_SSL_CA is not used under DB_SSL=${mode}: ${fix}`);
  }
  if (cert !== undefined && mode === 'DISABLED' && !input.wrong.has('DB_SSL')) {
    warnings.push('DB_SSL_CERT is not used under DB_SSL=DISABLED');
  }
  const origin = given.get('DB_SSL_KEY')?.origin ?? '';
  return {
    mode,
    ca: ca ?? null,
    cert: cert ?? null,
    key: key === undefined ? null : new Secret(key, origin),
  };
}

/**
 * For an IP address or a socket the driver sends no server name, and Node verifies the certificate
 * against "localhost": a foreign certificate for that name would pass, the right one would fail.
 */
function checkIdentity({ values, faults }: DatabaseInput, host: string | null): void {
  if (values.DB_SSL !== 'VERIFY_IDENTITY') return;
  if (host === null) {
    faults.push('DB_SSL=VERIFY_IDENTITY has no name to verify over DB_SOCKET: set DB_SSL=DISABLED');
  } else if (isIP(host.split('%')[0]!) !== 0) {
    const fix = 'use the DNS name that its certificate names, or DB_SSL=VERIFY_CA';
    faults.push(`DB_SSL=VERIFY_IDENTITY cannot verify the IP address ${host}: ${fix}`);
  }
}
