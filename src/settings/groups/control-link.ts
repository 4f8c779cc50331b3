/** Groups and validates the settings of the link between a control plane and gateways without a database. */
import { Secret } from '../../secret.ts';
import type { SettingText } from '../reading/sources.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';
import { checkAuthorities, checkClientCertificate } from './certificates.ts';

/** PEM texts with which a process proves itself to the other side, and verifies it. */
export interface LinkCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: Secret;
}

export interface ControlLinkSettings {
  /** The listener of a control plane; null when no gateways connect to it. */
  readonly listener: {
    /** 0 selects a free port. */
    readonly port: number;
    /** DNS names in lower case, of which a certificate must contain one. */
    readonly clientNames: readonly string[];
  } | null;
  /** Address of the control plane of a gateway without a database, or of a region; null for other processes. */
  readonly url: URL | null;
  /** Name of the region whose database this process has; null for other processes. */
  readonly region: string | null;
  /**
   * Reads the certificates, again from their files with each call; null without a link.
   *
   * @throws Failure when they are not usable
   */
  readonly readCertificates: (() => LinkCertificates) | null;
}

interface ReadValues {
  readonly values: SettingValues;
  readonly given: ReadonlyMap<SettingName, SettingText>;
}

interface LinkInput extends ReadValues {
  /** Milliseconds since the epoch, for the dates of certificates. */
  readonly now: number;
  readonly faults: string[];
  readonly warnings: string[];
}

const ca = 'GATEWRIGHT_LINK_CA';
const cert = 'GATEWRIGHT_LINK_CERT';
const key = 'GATEWRIGHT_LINK_KEY';
const port = 'GATEWRIGHT_LINK_PORT';
const url = 'GATEWRIGHT_LINK_URL';
const region = 'GATEWRIGHT_REGION';
const certificateNames = [ca, cert, key] as const;
const databaseNames = ['DB_HOST', 'DB_SOCKET', 'DB_URL'] as const;

/** Checks the certificates, and appends what is wrong to the lists of the input. */
export function controlLinkSettings(
  { values, given, now, faults, warnings }: LinkInput,
  readAgain: (names: readonly SettingName[]) => ReadValues,
): ControlLinkSettings {
  const certificates = certificatesIn({ values, given });
  if (certificates !== null) {
    const pem = { cert: certificates.cert, key: certificates.key.reveal() };
    for (const check of [
      checkAuthorities(ca, certificates.ca, now),
      checkClientCertificate({ cert, key }, pem, now),
    ]) {
      faults.push(...check.faults);
      warnings.push(...check.warnings);
    }
  }
  const { [port]: listenPort, GATEWRIGHT_LINK_CLIENTS: clientNames } = values;
  return {
    listener: listenPort === undefined ? null : { port: listenPort, clientNames },
    url: values[url] ?? null,
    region: values[region] ?? null,
    readCertificates: certificates && (() => certificatesIn(readAgain(certificateNames))!),
  };
}

function certificatesIn({ values, given }: ReadValues): LinkCertificates | null {
  const { [ca]: authorities, [cert]: chain, [key]: secret } = values;
  if (authorities === undefined || chain === undefined || secret === undefined) return null;
  return { ca: authorities, cert: chain, key: new Secret(secret, given.get(key)?.origin ?? '') };
}

/** @param isGiven whether a setting is set, even if invalid */
export function controlLinkFaults(
  _: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const sides = [port, url].filter((name) => isGiven(name as SettingName)) as SettingName[];
  if (sides.length === 0) {
    if (isGiven(region)) return [`${region} needs ${url}, the address of its home: set it`];
    const idle = certificateNames.filter(isGiven);
    if (idle.length === 0) return [];
    return [`${idle.join(', ')} would have no effect: set ${port} or ${url} too, or remove it`];
  }
  const faults = certificateNames
    .filter((name) => !isGiven(name))
    .map((name) => `${sides.join(' and ')} needs ${name}: set it`);
  const databases = databaseNames.filter(isGiven);
  if (isGiven(region)) return [...faults, ...regionFaults(isGiven, databases)];
  if (sides.length === 2)
    faults.push(
      `${port} is of a control plane, ${url} of a gateway without a database: keep one, or set ${region}`,
    );
  if (isGiven(url) && databases.length > 0)
    faults.push(
      `${url} is of a gateway without a database: remove it, or ${databases.join(', ')}; or set ${region}`,
    );
  return faults;
}

function regionFaults(
  isGiven: (name: SettingName) => boolean,
  databases: readonly SettingName[],
): string[] {
  return [
    ...(isGiven(url) ? [] : [`${region} needs ${url}, the address of its home: set it`]),
    ...(databases.length > 0
      ? []
      : [`${region} needs a database of its own: set DB_HOST, DB_SOCKET or DB_URL`]),
  ];
}
