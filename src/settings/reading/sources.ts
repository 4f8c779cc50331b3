/** Reads the text of settings from the environment, a `.env` file, or a file that the setting names. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'dotenv';
import { usualProxyName } from '../variables/proxy-variables.ts';
import { describeSetting, type SettingName, settingsSchema } from '../variables/variables.ts';

/** Text of one setting, trimmed, and its origin: `environment`, `.env:3`, or either with a file. */
export interface SettingText {
  readonly text: string;
  /** Human-readable: `environment`, `.env:3`, `/run/key named in environment`. */
  readonly from: string;
  /** Origin of a `Secret`: `env:DB_PASS`, `file:/run/key`. */
  readonly origin: string;
}

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** The process environment, which has precedence, and the `.env` file. */
export interface SettingSources {
  readonly environment: ProcessEnvironment;
  readonly dotenv: ProcessEnvironment;
  /** Line numbers in the `.env` file by name. */
  readonly lines: ReadonlyMap<string, number>;
  readonly cwd: string;
}

const fileBytesMax = 1024 * 1024;

/** Reads `.env` in `cwd` if it exists; appends a read error to `faults`. */
export function openSettingSources(
  given: ProcessEnvironment,
  cwd: string,
  faults: string[],
): SettingSources {
  const env = withCanonicalNames(given);
  const found = readText(resolve(cwd, '.env'));
  if (found.missing) return { environment: env, dotenv: {}, lines: new Map(), cwd };
  if (found.fault !== null) faults.push(`.env cannot be read: ${found.fault}`);
  const lines = new Map<string, number>();
  found.text.split('\n').forEach((line, at) => {
    const name = /^\s*(?:export\s+)?([\w.-]+)\s*[=:]/.exec(line)?.[1];
    if (name !== undefined) lines.set(name, at + 1);
  });
  return { environment: env, dotenv: parse(found.text), lines, cwd };
}

/** Lower-case proxy variables have precedence, as in other programs. */
function withCanonicalNames(env: ProcessEnvironment): ProcessEnvironment {
  const renamed = Object.entries(env).filter(([name]) => usualProxyName(name) !== name);
  if (renamed.length === 0) return env;
  const canonical = Object.entries(env).filter(([name]) => usualProxyName(name) === name);
  const usual = renamed.filter(([, text]) => text !== undefined && text.trim() !== '');
  return Object.fromEntries([
    ...canonical,
    ...usual.map(([name, text]) => [usualProxyName(name), text]),
  ]);
}

/** All names with a non-empty value, known or not. */
export function namesSet(sources: SettingSources): string[] {
  const all = new Set([...Object.keys(sources.environment), ...Object.keys(sources.dotenv)]);
  return [...all].filter((name) => lookUp(sources, name) !== null);
}

export interface CollectedSettings {
  /** The settings that have a text. */
  readonly given: ReadonlyMap<SettingName, SettingText>;
  /** Settings without a text because a file is unreadable or the setting is set twice. */
  readonly unread: ReadonlySet<SettingName>;
}

/** Looks up the `wanted` settings; appends unreadable files and settings that are set twice to `faults`. */
export function collectSettings(
  sources: SettingSources,
  wanted: readonly SettingName[],
  faults: string[],
): CollectedSettings {
  const given = new Map<SettingName, SettingText>();
  const unread = new Set<SettingName>();
  for (const name of wanted) {
    const direct = lookUp(sources, name);
    const named = describeSetting(name).file ? lookUp(sources, `${name}_FILE`) : null;
    if (direct !== null && named !== null) {
      faults.push(
        `${name} (${direct.from}) and ${name}_FILE (${named.from}) are both set: keep one`,
      );
      unread.add(name);
      continue;
    }
    const found =
      named !== null
        ? fromFile(sources, `${name}_FILE`, named, faults)
        : direct && settle(sources, name, direct, faults);
    if (found !== null) given.set(name, found);
    else if (direct !== null || named !== null) unread.add(name);
  }
  return { given, unread };
}

function lookUp(sources: SettingSources, name: string): SettingText | null {
  const real = sources.environment[name];
  const text = (real ?? sources.dotenv[name] ?? '').trim();
  // Charts write "" for unset; Kubernetes injects service addresses under names like DB_PORT.
  if (text === '' || isServiceLink(name, text)) return null;
  if (real !== undefined) return { text, from: 'environment', origin: `env:${name}` };
  const line = sources.lines.get(name);
  return { text, from: line === undefined ? '.env' : `.env:${line}`, origin: `.env:${name}` };
}

/** Kubernetes sets such variables for a service of the same name (`DB_PORT=tcp://10.0.0.1:3306`). */
function isServiceLink(name: string, text: string): boolean {
  if (
    /_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?$/.test(name) &&
    /^(?:tcp|udp|sctp):\/\//.test(text)
  ) {
    return true;
  }
  return /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)_(?:PROTO|PORT|ADDR)$/.test(
    name,
  );
}

/** Replaces a value that looks like a path by the content of the file, for settings that allow it. */
function settle(
  sources: SettingSources,
  name: SettingName,
  given: SettingText,
  faults: string[],
): SettingText | null {
  if (!describeSetting(name).file || !/^\.{0,2}\//.test(given.text)) return given;
  const isValue = settingsSchema.shape[name].safeParse(given.text).success;
  // One random base64 key in 64 begins with a slash; a password with a slash is more likely a mistyped path.
  const mayBeValue = name.startsWith('GATEWRIGHT_MASTER_KEY') && isValue;
  if (mayBeValue && readText(resolve(sources.cwd, given.text)).missing) return given;
  return fromFile(sources, name, given, faults);
}

function fromFile(
  sources: SettingSources,
  name: SettingName | `${SettingName}_FILE`,
  given: SettingText,
  faults: string[],
): SettingText | null {
  const file = resolve(sources.cwd, given.text);
  const found = readText(file);
  const text = found.text.trim();
  if (found.fault === null && text !== '') {
    return { text, from: `${file}, named in ${given.from}`, origin: `file:${file}` };
  }
  faults.push(fileFault(name, given, found.fault ?? 'is empty'));
  return null;
}

function fileFault(
  name: SettingName | `${SettingName}_FILE`,
  given: SettingText,
  fault: string,
): string {
  if (name.endsWith('_FILE')) {
    return `${name} (${given.from}) names a file that ${fault}: ${displayPath(given.text)}`;
  }
  // The value of a secret may be the secret itself rather than a path to it, so it is not printed.
  const pathNote = describeSetting(name as SettingName).secret
    ? ''
    : ` (${displayPath(given.text)})`;
  return (
    `${name} (${given.from}) begins like a path, but the file it names${pathNote} ${fault}; ` +
    `to give a value that begins with "/", "../" or "../../", write it to a file and set ${name}_FILE`
  );
}

/** A secret pasted where a path belongs must not reach the screen. */
function displayPath(text: string): string {
  return /^\.{0,2}\//.test(text) && /^[\w./ -]{1,200}$/.test(text)
    ? text
    : `a text of ${text.length} characters (not shown)`;
}

interface FileText {
  readonly text: string;
  readonly missing: boolean;
  /** Completes "the file …", or null when it was read. */
  readonly fault: string | null;
}

function readText(file: string): FileText {
  try {
    const facts = statSync(file);
    if (!facts.isFile() && !facts.isFIFO())
      return { text: '', missing: false, fault: 'is not a file' };
    if (facts.size > fileBytesMax) {
      return { text: '', missing: false, fault: `is larger than ${fileBytesMax} bytes` };
    }
    return { text: readFileSync(file, 'utf8').replace(/^\ufeff/, ''), missing: false, fault: null };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const missing = code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG';
    const fault = missing ? 'does not exist' : `cannot be read (${code})`;
    return { text: '', missing, fault };
  }
}
