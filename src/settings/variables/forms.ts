/** Defines the text forms of settings and how each is parsed. */
import { z } from 'zod';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { readTrustedHosts, type TrustedHosts, trustedHostsForm } from '../../trusted-hosts.ts';

/** A text form: parser, description and example. */
export interface Form<T> {
  readonly schema: z.ZodType<T, string>;
  /** Completes "expected …". */
  readonly expected: string;
  readonly example: string;
}

const on = ['on', 'true', 'yes', '1'];
const off = ['off', 'false', 'no', '0'];

export const toggle: Form<boolean> = {
  schema: z
    .string()
    .regex(/^(?:on|off|true|false|yes|no|1|0)$/i)
    .transform((text) => on.includes(text.toLowerCase())),
  expected: `${on.join(', ')} or ${off.join(', ')} (any case)`,
  example: 'ON',
};

export function integer(minimum: number, maximum: number, example: string): Form<number> {
  return {
    schema: z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number)
      .pipe(z.number().min(minimum).max(maximum)),
    expected: `a whole number from ${minimum} to ${maximum}`,
    example,
  };
}

export const portNumber = integer(1, 65_535, '3306');
export const listenPort = integer(0, 65_535, '8080');

/** Any text on one line. */
export function line(expected: string, example: string, lengthMax = 4096): Form<string> {
  return {
    // Control characters in the pattern are intended: they are rejected.
    schema: z
      .string()
      .max(lengthMax)
      .regex(/^[^\u0000-\u001f\u007f]*$/),
    expected,
    example,
  };
}

export function pattern(regex: RegExp, expected: string, example: string): Form<string> {
  return { schema: z.string().regex(regex), expected, example };
}

/** One of several words, case-insensitive. */
export function oneOf<const W extends readonly string[]>(
  words: W,
  example: W[number],
): Form<W[number]> {
  return {
    schema: z
      .string()
      .transform((text) => text.toLowerCase())
      .pipe(z.enum(words)),
    expected: `one of ${words.join(', ')}`,
    example,
  };
}

/** A host name or address without scheme, port or path; brackets around IPv6 are removed. */
export const host: Form<string> = {
  schema: z
    .string()
    .max(253)
    .regex(
      /^(?:[A-Za-z0-9_](?:[\w.-]*[A-Za-z0-9_.])?|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%\w+)?\]?)$/,
    )
    .transform((text) => text.replace(/^\[|\]$/g, '')),
  expected: 'a host name or an IP address, without scheme, port or path',
  example: 'db.example.com',
};

export const path = line('a path', './credentials.json');

/** Private age keys as written by age-keygen: one a line, with comments. */
export const ageIdentities: Form<string[]> = {
  schema: z.string().transform((text, context) => {
    const lines = text.split(/\r?\n/).map((line) => line.trim());
    const wrong = lines.findIndex(
      (line) => !/^(?:#.*|AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{40,80})?$/.test(line),
    );
    const identities = lines.filter((line) => line !== '' && !line.startsWith('#'));
    if (wrong < 0 && identities.length > 0) return identities;
    const fault =
      wrong < 0
        ? 'contains no age identity; create one with age-keygen'
        : `has an invalid age identity (AGE-SECRET-KEY-1…) on line ${wrong + 1}; ssh keys and plugins are not supported`;
    context.addIssue({ code: 'custom', message: 'no identities', params: { fault } });
    return z.NEVER;
  }),
  expected: 'private keys of age, one a line, or a path to a file of them',
  example: '/run/secrets/age-key.txt',
};

/** `secret/support`: a mount, optionally with a path below it. */
export const vaultPaths: Form<{ readonly mount: string; readonly path: string }[]> = {
  schema: z
    .string()
    .max(4096)
    .regex(
      /^[A-Za-z0-9][\w.-]*(?:\/[\w-][\w.-]*)*(?:\s*,\s*[A-Za-z0-9][\w.-]*(?:\/[\w-][\w.-]*)*)*$/,
    )
    .transform((text) =>
      text.split(',').map((entry) => {
        const [mount = '', ...path] = entry.trim().split('/');
        return { mount, path: path.join('/') };
      }),
    ),
  expected: 'a mount and a path below it, MOUNT/PATH, several separated by commas',
  example: 'secret/gatewright',
};

/** An http or https URL without credentials, query and fragment. */
export const webAddress: Form<URL> = {
  schema: z
    .string()
    .max(2048)
    .refine((text) => URL.canParse(text) && /^https?:\/\/[^@?#]+$/i.test(text))
    .transform((text) => new URL(text)),
  expected: 'an address that begins with https:// or http://, without credentials and query',
  example: 'https://vault.example.com:8200',
};

/** `https://…`, or `TSG_ID=https://…` for an issuer that is trusted in that organisation only. */
export const issuerAddresses: Form<{ readonly url: string; readonly tsgId: string | null }[]> = {
  schema: z
    .string()
    .max(8192)
    .transform((text) =>
      text.split(',').map((part) => {
        const [, tsgId = null, url = ''] = /^(?:(\d{10})=)?(.*)$/.exec(part.trim()) ?? [];
        return { url, tsgId };
      }),
    )
    .refine((entries) =>
      entries.every(({ url }) => /^https?:\/\/[^\s@#]+$/i.test(url) && URL.canParse(url)),
    ),
  expected:
    'addresses that begin with https:// separated by commas, each with TSG_ID= in front where it counts in that organisation alone',
  example: 'https://login.example.com/keys',
};

/** The prefix `http://` is optional, as in other programs. */
export const proxy: Form<URL> = {
  schema: z
    .string()
    .max(2048)
    .transform((text) => (/^[a-z0-9+]+:\/\//i.test(text) ? text : `http://${text}`))
    .refine((text) => URL.canParse(text) && /^https?:\/\/[^/?#]+\/?$/i.test(text))
    .transform((text) => new URL(text)),
  expected:
    'the address of a proxy, http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ if wanted',
  example: 'http://proxy.example.com:3128',
};

/** Hosts; `example.com` and `.example.com` are equivalent. */
export const hostList: Form<string[]> = {
  schema: z
    .string()
    .max(8192)
    .regex(/^[^\u0000-\u001f\u007f]*$/)
    .transform((text) => text.split(/[\s,]+/).filter((entry) => entry !== '')),
  expected:
    'hosts separated by commas: names with all below them, addresses, networks (10.0.0.0/8), or *',
  example: '.svc,.cluster.local,10.0.0.0/8',
};

export const headerNameList: Form<string[]> = {
  schema: z
    .string()
    .regex(/^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/)
    .transform((text) => text.split(',').map((name) => name.trim().toLowerCase())),
  expected: 'names of request headers separated by commas',
  example: 'x-team,x-app',
};

/** OpenTelemetry format: `name=value` separated by commas, values percent-encoded. */
export const headerValues: Form<Readonly<Record<string, string>>> = {
  schema: z
    .string()
    .max(8192)
    .transform((text, context) => {
      const pairs = text.split(',').map(headerPair);
      const sound = pairs.filter((pair) => pair !== null);
      if (sound.length === pairs.length) return Object.fromEntries(sound);
      context.addIssue({ code: 'custom', message: 'no headers' });
      return z.NEVER;
    }),
  expected: 'NAME=VALUE separated by commas, with %2C and the like in values, or a path to a file',
  example: '/run/secrets/otlp-headers',
};

/** Null for an invalid header. */
function headerPair(part: string): readonly [string, string] | null {
  const [, name, encoded] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*([\x21-\x7e ]*?)\s*$/.exec(part) ?? [];
  if (name === undefined || encoded === undefined) return null;
  try {
    const value = decodeURIComponent(encoded);
    return /^[\x20-\x7e]*$/.test(value) ? [name.toLowerCase(), value] : null;
  } catch {
    return null;
  }
}

const address = String.raw`[^\s@<>,;"]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?`;

/** Sender: `gatewright@example.com` or `Name <gatewright@example.com>`. */
export const mailSender = pattern(
  new RegExp(`^(?:${address}|[^\\u0000-\\u001f\\u007f<>"@]{1,128} <${address}>)$`),
  'an e-mail address, or a name with the address in angle brackets',
  'gatewright@example.com',
);

export const mailAddresses: Form<string[]> = {
  schema: z
    .string()
    .max(8192)
    .regex(new RegExp(`^${address}(?:\\s*,\\s*${address})*$`))
    .transform((text) => text.split(',').map((one) => one.trim())),
  expected: 'e-mail addresses separated by commas',
  example: 'platform@example.com',
};

export const scopes: Form<string[]> = {
  schema: z
    .string()
    .regex(/^[a-z_]+[.:][a-z]+(?:\s*,\s*[a-z_]+[.:][a-z]+)*$/)
    .transform((text) => text.split(',').map((name) => name.trim())),
  expected: 'scopes separated by commas',
  example: 'completions.write',
};

export const variableNames: Form<string[]> = {
  schema: z
    .string()
    .max(4096)
    .regex(/^[A-Za-z_]\w*(?:_\*)?(?:\s*,\s*[A-Za-z_]\w*(?:_\*)?)*$/)
    .transform((text) => text.split(',').map((name) => name.trim())),
  expected: 'names of variables separated by commas, NAME or PREFIX_* for all that begin so',
  example: 'CRM_URL,TEAM_*',
};

const namespacePattern = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';

export const namespaces: Form<string[]> = {
  schema: z
    .string()
    .max(4096)
    .regex(new RegExp(String.raw`^${namespacePattern}(?:\s*,\s*${namespacePattern})*$`))
    .transform((text) => [...new Set(text.split(',').map((name) => name.trim()))]),
  expected: 'names of namespaces separated by commas',
  example: 'support,research',
};

/** `NAMESPACE/NAME` of an object in a cluster. */
export const kubernetesName: Form<{ readonly namespace: string; readonly name: string }> = {
  schema: z
    .string()
    .regex(new RegExp(`^${namespacePattern}/[a-z0-9](?:[a-z0-9.-]{0,98}[a-z0-9])?$`))
    .transform((text) => {
      const [namespace = '', name = ''] = text.split('/');
      return { namespace, name };
    }),
  expected: 'a namespace and a name of at most 100 characters, NAMESPACE/NAME',
  example: 'gateways/sync-status',
};

/** An issue with a `fault` completes "NAME …" instead of "NAME is …: expected …". */
export const trustedHosts: Form<TrustedHosts> = {
  schema: z.string().transform((text, context) => {
    const reading = readTrustedHosts(text);
    if ('hosts' in reading) return reading.hosts;
    const fault =
      'refused' in reading
        ? `lists ${reading.refused.join(', ')}: cloud metadata services hand out credentials and ` +
          'can never be trusted. Remove what is listed'
        : undefined;
    context.addIssue({ code: 'custom', message: 'no list of hosts', params: { fault } });
    return z.NEVER;
  }),
  expected: trustedHostsForm,
  example: '*.svc.cluster.local,10.0.0.0/8,crm.internal:8443',
};

/** Names of owners, in the form of names in manifests. */
export const managedName = pattern(managedNamePattern, managedNameForm, 'team-a');

/** PEM text; settings/groups/certificates.ts checks its content. */
export const pem: Form<string> = {
  schema: z.string().transform((text, context) => {
    const found = unwrapPem(text);
    if (found !== null) return found;
    context.addIssue({ code: 'custom', message: 'no PEM block' });
    return z.NEVER;
  }),
  expected: 'PEM text (real or \\n line ends), base64 of PEM text, or a path to a PEM file',
  example: '/run/tls/ca.pem',
};

function unwrapPem(text: string): string | null {
  const isBase64 = /^[A-Za-z0-9+/=\s]+$/.test(text);
  const plain = isBase64 ? Buffer.from(text, 'base64').toString('utf8') : text;
  const lines = plain.replaceAll('\\r', '').replaceAll('\\n', '\n').replaceAll('\r', '').trim();
  return /(?:^|\n)-----BEGIN /.test(lines) ? `${lines}\n` : null;
}

const masterKeyBytesMin = 32;

/** 32 bytes or more; one byte repeated is a placeholder, not a key. */
export const keyBytes: Form<Buffer> = {
  schema: z.string().transform((text, context) => {
    const bytes = decodeKey(text);
    if (bytes !== null && bytes.length >= masterKeyBytesMin && new Set(bytes).size > 1) {
      return bytes;
    }
    context.addIssue({ code: 'custom', message: 'no usable key' });
    return z.NEVER;
  }),
  expected:
    `base64 or hex of at least ${masterKeyBytesMin} random bytes (openssl rand -base64 32), ` +
    'or a path to a file that contains it',
  example: '/run/secrets/master-key',
};

function decodeKey(text: string): Buffer | null {
  if (/^(?:[0-9a-f]{2})+$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
}

export const databaseTlsModes = [
  'DISABLED',
  'PREFERRED',
  'REQUIRED',
  'VERIFY_CA',
  'VERIFY_IDENTITY',
  'Amazon RDS',
] as const;

const bare = (text: string): string => text.replace(/[\s_-]/g, '').toUpperCase();
const tlsModes = new Map<string, (typeof databaseTlsModes)[number]>([
  ...databaseTlsModes.map((mode) => [bare(mode), mode] as const),
  ['SKIPVERIFY', 'REQUIRED'],
]);

export const tlsMode: Form<(typeof databaseTlsModes)[number]> = {
  schema: z.string().transform((text, context) => {
    const mode = tlsModes.get(bare(text));
    if (mode !== undefined) return mode;
    context.addIssue({ code: 'custom', message: 'unknown mode' });
    return z.NEVER;
  }),
  expected: `one of ${databaseTlsModes.join(', ')}`,
  example: 'VERIFY_IDENTITY',
};

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const logLevel = oneOf(logLevels, 'debug');

export const driftModes = ['heal', 'report', 'off'] as const;

export const driftMode = oneOf(driftModes, 'report');

export const signedObjects = ['commit', 'tag', 'tag-and-commit'] as const;

export const signedObject = oneOf(signedObjects, 'commit');

/** Long enough to be unguessable: the holder can trigger checks of the source. */
export const webhookSecret = pattern(
  /^[\x21-\x7e]{16,512}$/,
  '16 to 512 visible ASCII characters',
  '/run/secrets/webhook',
);

/** A token that is valid in a header. */
export const headerToken = pattern(
  /^[\x21-\x7e]{1,4096}$/,
  'a token of visible ASCII characters, or a path to a file',
  '/run/secrets/commit-status-token',
);

export const gitHostForms = ['github', 'gitlab', 'gitea'] as const;
export const gitHostForm = oneOf(gitHostForms, 'gitea');

export const noticeForms = ['json', 'slack'] as const;
export const noticeForm = oneOf(noticeForms, 'slack');
