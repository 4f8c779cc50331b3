/** Checks that PEM text contains usable certificates and keys; the database driver accepts any text. */
import { createPrivateKey, X509Certificate } from 'node:crypto';

const dayMs = 86_400_000;
const noticeDays = 30;
const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/** Result of a check; `summary` names subjects and dates. */
export interface CertificateCheck {
  readonly faults: string[];
  readonly warnings: string[];
  readonly summary: string;
}

/** Subject and expiry of the first certificate, or a note that there is none. */
export function certificateSummary(pem: string): string {
  const first = parseCertificates('', pem).certificates[0];
  return first === undefined ? '(no certificate)' : describe(first);
}

/** Checks a CA bundle: one valid certificate is enough. `now` is in ms since the epoch. */
export function checkAuthorities(name: string, pem: string, now: number): CertificateCheck {
  const parsed = parseCertificates(name, pem);
  if (parsed.fault !== null) return failed(parsed.fault);
  const last = parsed.certificates.reduce((a, b) => (expiry(a) >= expiry(b) ? a : b));
  const summary = `${parsed.certificates.length} certificate(s), ${describe(last)}`;
  if (expiry(last) <= now) return { ...failed(`${name} has expired: ${summary}`), summary };
  const unborn = parsed.certificates.every((one) => one.validFromDate.getTime() > now);
  if (unborn) return { ...failed(`${name} is not valid yet: ${summary}`), summary };
  return { faults: [], warnings: nearExpiry(name, last, now), summary };
}

/** Checks the dates of a client certificate (first in the chain) and that its key matches. */
export function checkClientCertificate(
  names: { cert: string; key: string },
  pem: { cert: string; key: string },
  now: number,
): CertificateCheck {
  const parsed = parseCertificates(names.cert, pem.cert);
  const key = parseKey(pem.key);
  const faults = parsed.fault === null ? [] : [parsed.fault];
  if (key === null) {
    faults.push(`${names.key} contains no readable private key; it must have no passphrase`);
  }
  const leaf = parsed.certificates[0];
  if (leaf === undefined) return { faults, warnings: [], summary: '' };
  const summary = describe(leaf);
  if (expiry(leaf) <= now) faults.push(`${names.cert} has expired: ${summary}`);
  if (leaf.validFromDate.getTime() > now) faults.push(`${names.cert} is not valid yet: ${summary}`);
  if (key !== null && !leaf.checkPrivateKey(key)) {
    faults.push(`${names.key} is not the key of ${names.cert} (${summary})`);
  }
  return { faults, warnings: nearExpiry(names.cert, leaf, now), summary };
}

function failed(fault: string): CertificateCheck {
  return { faults: [fault], warnings: [], summary: '' };
}

function parseCertificates(
  name: string,
  pem: string,
): { certificates: X509Certificate[]; fault: string | null } {
  const blocks = [...pem.matchAll(block)].filter(([, label]) => label!.endsWith('CERTIFICATE'));
  if (blocks.length === 0) {
    return { certificates: [], fault: `${name} contains no complete certificate block` };
  }
  const certificates: X509Certificate[] = [];
  for (const [at, [text]] of blocks.entries()) {
    try {
      certificates.push(new X509Certificate(text));
    } catch {
      const fault = `${name}: certificate ${at + 1} of ${blocks.length} cannot be read`;
      return { certificates: [], fault };
    }
  }
  return { certificates, fault: null };
}

function parseKey(pem: string): ReturnType<typeof createPrivateKey> | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}

function expiry(certificate: X509Certificate): number {
  return certificate.validToDate.getTime();
}

function describe(certificate: X509Certificate): string {
  const subject = certificate.subject?.split('\n').join(', ') || '(no subject)';
  return `${subject}, until ${certificate.validToDate.toISOString().slice(0, 10)}`;
}

function nearExpiry(name: string, certificate: X509Certificate, now: number): string[] {
  const daysLeft = Math.floor((expiry(certificate) - now) / dayMs);
  if (daysLeft < 0 || daysLeft >= noticeDays) return [];
  return [`${name} expires in ${daysLeft} days: ${describe(certificate)}`];
}
